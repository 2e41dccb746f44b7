// Copyright: Contributors to the gitops.fleet project
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Karpenter with its kwok provider, as sigs.k8s.io/karpenter/kwok starts it, but for two things: its metrics and its
// health are told on loopback only, for which upstream has no option, and --version answers.
package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator"
)

const loopback = "127.0.0.1"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("karpenter", operator.Version)
		return
	}
	// The operator asks for ":<port>", which is every address of the machine.
	ctrl.NewManager = func(config *rest.Config, options manager.Options) (manager.Manager, error) {
		options.Metrics.BindAddress = loopback + options.Metrics.BindAddress
		options.HealthProbeBindAddress = loopback + options.HealthProbeBindAddress
		return manager.New(config, options)
	}
	ctx, op := operator.NewOperator()
	types, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "no instance types")
		os.Exit(1)
	}
	bare := kwok.NewCloudProvider(ctx, op.GetClient(), types)
	provider := overlay.Decorate(bare, op.GetClient(), op.InstanceTypeStore)
	cluster := state.NewCluster(op.Clock, op.GetClient(), provider)
	op.WithControllers(ctx, controllers.NewControllers(
		ctx, op.Manager, op.Clock, op.GetClient(), op.EventRecorder, provider, bare, cluster, op.InstanceTypeStore,
	)...).Start(ctx)
}
