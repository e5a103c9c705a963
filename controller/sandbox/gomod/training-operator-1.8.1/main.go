// training-operator runs the controllers of Kubeflow's training operator, as its own program does, but without its
// admission webhooks and their certificates: that program insists on both, and keeps certificates in one fixed folder
// of the machine, so that two sandboxes could not have one each.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func main() {
	address := flag.String("health-probe-bind-address", "", "where it says that it is ready")
	qps := flag.Float64("qps", 20, "requests a second to the apiserver")
	burst := flag.Int("burst", 30, "requests at once to the apiserver")
	flag.Parse() // controller-runtime adds --kubeconfig
	ctrl.SetLogger(zap.New())
	if err := run(*address, float32(*qps), *burst); err != nil {
		ctrl.Log.Error(err, "ended")
		os.Exit(1)
	}
}

func run(address string, qps float32, burst int) error {
	// what the operator's own program sets from its flags' defaults
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	config.Config.MPIKubectlDeliveryImage = config.MPIKubectlDeliveryImageDefault

	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, kubeflowv1.AddToScheme, volcano.AddToScheme, schedulerplugins.AddToScheme,
	} {
		if err := add(known); err != nil {
			return err
		}
	}
	settings, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	settings.QPS, settings.Burst = qps, burst
	manager, err := ctrl.NewManager(settings, ctrl.Options{
		Scheme:                 known,
		Metrics:                metrics.Options{BindAddress: "0"},
		HealthProbeBindAddress: address,
	})
	if err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(controllers.SupportedSchemeReconciler)) {
		setUp := controllers.SupportedSchemeReconciler[kind]
		if err := setUp(manager, common.GenNonGangSchedulerSetupFunc(), 1); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
