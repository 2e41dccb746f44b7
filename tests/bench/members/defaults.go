// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// addDefaults are those of pkg/apis/apps/v1 and pkg/apis/core/v1 of Kubernetes, as far as the kinds of benchmarks go.
func addDefaults(to *runtime.Scheme) {
	to.AddTypeDefaultingFunc(&core.Namespace{}, func(any any) { defaultNamespace(any.(*core.Namespace)) })
	to.AddTypeDefaultingFunc(&core.Secret{}, func(any any) { defaultSecret(any.(*core.Secret)) })
	to.AddTypeDefaultingFunc(&core.Service{}, func(any any) { defaultService(any.(*core.Service)) })
	to.AddTypeDefaultingFunc(&apps.Deployment{}, func(any any) { defaultDeployment(any.(*apps.Deployment)) })
}

func defaultNamespace(found *core.Namespace) {
	if found.Name != "" {
		if found.Labels == nil {
			found.Labels = map[string]string{}
		}
		found.Labels[core.LabelMetadataName] = found.Name
	}
	or(&found.Status.Phase, core.NamespaceActive)
}

func defaultSecret(found *core.Secret) {
	or(&found.Type, core.SecretTypeOpaque)
	for key, value := range found.StringData {
		if found.Data == nil {
			found.Data = map[string][]byte{}
		}
		found.Data[key] = []byte(value)
	}
	found.StringData = nil
}

func defaultService(found *core.Service) {
	spec := &found.Spec
	or(&spec.SessionAffinity, core.ServiceAffinityNone)
	or(&spec.Type, core.ServiceTypeClusterIP)
	for index := range spec.Ports {
		port := &spec.Ports[index]
		or(&port.Protocol, core.ProtocolTCP)
		or(&port.TargetPort, intstr.FromInt32(port.Port))
	}
	if spec.Type != core.ServiceTypeExternalName {
		pointer(&spec.InternalTrafficPolicy, core.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == core.ServiceTypeNodePort || spec.Type == core.ServiceTypeLoadBalancer {
		or(&spec.ExternalTrafficPolicy, core.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == core.ServiceTypeLoadBalancer {
		pointer(&spec.AllocateLoadBalancerNodePorts, true)
	}
}

func defaultDeployment(found *apps.Deployment) {
	spec := &found.Spec
	pointer(&spec.Replicas, 1)
	pointer(&spec.RevisionHistoryLimit, 10)
	pointer(&spec.ProgressDeadlineSeconds, 600)
	or(&spec.Strategy.Type, apps.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == apps.RollingUpdateDeploymentStrategyType {
		pointer(&spec.Strategy.RollingUpdate, apps.RollingUpdateDeployment{})
		pointer(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		pointer(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	defaultPods(&spec.Template.Spec)
}

func defaultPods(spec *core.PodSpec) {
	or(&spec.DNSPolicy, core.DNSClusterFirst)
	or(&spec.RestartPolicy, core.RestartPolicyAlways)
	or(&spec.SchedulerName, core.DefaultSchedulerName)
	pointer(&spec.SecurityContext, core.PodSecurityContext{})
	pointer(&spec.TerminationGracePeriodSeconds, core.DefaultTerminationGracePeriodSeconds)
	for _, containers := range [][]core.Container{spec.InitContainers, spec.Containers} {
		for index := range containers {
			defaultContainer(&containers[index])
		}
	}
	for index := range spec.Volumes {
		volume := &spec.Volumes[index]
		if volume.ConfigMap != nil {
			pointer(&volume.ConfigMap.DefaultMode, core.ConfigMapVolumeSourceDefaultMode)
		}
		if volume.Secret != nil {
			pointer(&volume.Secret.DefaultMode, core.SecretVolumeSourceDefaultMode)
		}
	}
}

func defaultContainer(found *core.Container) {
	pull := core.PullIfNotPresent
	if name := found.Image[strings.LastIndex(found.Image, "/")+1:]; !strings.ContainsAny(name, ":@") ||
		strings.HasSuffix(name, ":latest") {
		pull = core.PullAlways
	}
	or(&found.ImagePullPolicy, pull)
	or(&found.TerminationMessagePath, core.TerminationMessagePathDefault)
	or(&found.TerminationMessagePolicy, core.TerminationMessageReadFile)
	for index := range found.Ports {
		or(&found.Ports[index].Protocol, core.ProtocolTCP)
	}
	for _, probe := range []*core.Probe{found.LivenessProbe, found.ReadinessProbe, found.StartupProbe} {
		if probe == nil {
			continue
		}
		or(&probe.TimeoutSeconds, 1)
		or(&probe.PeriodSeconds, 10)
		or(&probe.SuccessThreshold, 1)
		or(&probe.FailureThreshold, 3)
		if probe.HTTPGet != nil {
			or(&probe.HTTPGet.Path, "/")
			or(&probe.HTTPGet.Scheme, core.URISchemeHTTP)
		}
	}
}

func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func pointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
