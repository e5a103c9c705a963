// Command kubectl is Kubernetes' own kubectl, made from its library. Its module also says which Helm the tests build.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
}
