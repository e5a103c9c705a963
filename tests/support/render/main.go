// Command render prints what Helm and kustomize make of our files, with their own libraries, for the tests.
//
//	render helm CHART NAMESPACE VALUES.yaml VERSION [KUBECONFIG]   JSON: text by template, for this version of
//	                                                              Kubernetes; `lookup` asks the cluster, if any
//	render kustomize FOLDER                                        YAML
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 5 && args[0] == "helm":
		return helm(engine.Engine{Strict: true}, args[1], args[2], args[3], args[4])
	case len(args) == 6 && args[0] == "helm":
		config, err := clientcmd.BuildConfigFromFlags("", args[5])
		if err != nil {
			return err
		}
		connected := engine.New(config)
		connected.Strict = true
		return helm(connected, args[1], args[2], args[3], args[4])
	case len(args) == 2 && args[0] == "kustomize":
		return kustomize(args[1])
	}
	return fmt.Errorf("usage: render helm CHART NAMESPACE VALUES.yaml VERSION [KUBECONFIG] | render kustomize FOLDER")
}

func helm(with engine.Engine, path, namespace, valuesFile, version string) error {
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	file, err := os.Open(valuesFile)
	if err != nil {
		return err
	}
	defer file.Close()
	given, err := loader.LoadValues(file)
	if err != nil {
		return err
	}
	release := common.ReleaseOptions{Name: "penstock", Namespace: namespace, Revision: 1, IsInstall: true}
	kubernetes, err := common.ParseKubeVersion(version)
	if err != nil {
		return err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kubernetes
	values, err := util.ToRenderValues(chart, given, release, capabilities)
	if err != nil {
		return err
	}
	rendered, err := with.Render(chart, values)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(rendered)
}

func kustomize(folder string) error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	text, err := built.AsYaml()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
