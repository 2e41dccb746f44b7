// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// object is a typed object of k8s.io/api, or an unstructured one of a kind that no library here knows.
type object interface {
	runtime.Object
	metav1.Object
}

// kind is one resource of a member's API.
type kind struct {
	gvk                schema.GroupVersionKind
	resource, singular string
	namespaced, typed  bool
	// hasStatus: writes to the object leave status alone; it has a subresource of its own.
	hasStatus, hasGeneration bool
	// createOnPut and needsVersion are AllowCreateOnUpdate and not AllowUnconditionalUpdate of the real strategies.
	createOnPut, needsVersion bool
	// managers of fields, by subresource.
	managers map[string]*managedfields.FieldManager
}

func (k *kind) group() schema.GroupResource {
	return schema.GroupResource{Group: k.gvk.Group, Resource: k.resource}
}

func (k *kind) new() object {
	if k.typed {
		made, err := scheme.New(k.gvk)
		if err != nil {
			panic(err)
		}
		made.GetObjectKind().SetGroupVersionKind(k.gvk)
		return made.(object)
	}
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetGroupVersionKind(k.gvk)
	return made
}

var (
	scheme      = newScheme()
	definitions = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	// Groups and their kinds, those with a namespace first.
	builtIn = []struct {
		group               schema.GroupVersion
		namespaced, cluster string
	}{
		{
			schema.GroupVersion{Version: "v1"},
			"ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota" +
				" Secret Service ServiceAccount",
			"Namespace Node PersistentVolume",
		},
		{version("apps/v1"), "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""},
		{version("batch/v1"), "CronJob Job", ""},
		{version("autoscaling/v2"), "HorizontalPodAutoscaler", ""},
		{version("networking.k8s.io/v1"), "Ingress NetworkPolicy", "IngressClass"},
		{version("policy/v1"), "PodDisruptionBudget", ""},
		{version("rbac.authorization.k8s.io/v1"), "Role RoleBinding", "ClusterRole ClusterRoleBinding"},
		{version("storage.k8s.io/v1"), "CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment"},
		{version("scheduling.k8s.io/v1"), "", "PriorityClass"},
		{version("coordination.k8s.io/v1"), "Lease", ""},
		{version("discovery.k8s.io/v1"), "EndpointSlice", ""},
		{version("node.k8s.io/v1"), "", "RuntimeClass"},
		{
			version("admissionregistration.k8s.io/v1"), "",
			"MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
		},
		{version("apiextensions.k8s.io/v1"), "", "CustomResourceDefinition"},
	}
	withStatus = strings.Fields("Namespace Node Pod PersistentVolume PersistentVolumeClaim ReplicationController ResourceQuota" +
		" Service DaemonSet Deployment ReplicaSet StatefulSet CronJob Job HorizontalPodAutoscaler Ingress PodDisruptionBudget" +
		" VolumeAttachment ValidatingAdmissionPolicy CustomResourceDefinition")
	withGeneration = strings.Fields("ReplicationController DaemonSet Deployment ReplicaSet StatefulSet CronJob Job Ingress" +
		" NetworkPolicy IngressClass PodDisruptionBudget CustomResourceDefinition MutatingWebhookConfiguration" +
		" ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration")
)

func version(text string) schema.GroupVersion {
	found, err := schema.ParseGroupVersion(text)
	if err != nil {
		panic(err)
	}
	return found
}

func newScheme() *runtime.Scheme {
	made := runtime.NewScheme()
	if err := clientscheme.AddToScheme(made); err != nil {
		panic(err)
	}
	addDefaults(made)
	return made
}

// builtInKinds are those that every member has, in the order of discovery.
func builtInKinds() []*kind {
	types := applyconfigurations.NewTypeConverter(scheme)
	var kinds []*kind
	for _, row := range builtIn {
		for _, part := range []string{row.namespaced, row.cluster} {
			for _, name := range strings.Fields(part) {
				gvk := row.group.WithKind(name)
				plural, singular := meta.UnsafeGuessKindToResource(gvk)
				found := &kind{
					gvk:           gvk,
					resource:      plural.Resource,
					singular:      singular.Resource,
					namespaced:    part == row.namespaced,
					typed:         gvk != definitions,
					hasStatus:     slices.Contains(withStatus, name),
					hasGeneration: slices.Contains(withGeneration, name),
					createOnPut:   name == "Lease" || name == "Service" || name == "Event",
					needsVersion:  name == "Lease" || gvk == definitions,
				}
				if !found.typed {
					found.managers = untypedManagers(found)
				} else {
					found.managers = typedManagers(found, types)
				}
				kinds = append(kinds, found)
			}
		}
	}
	return kinds
}

// customKinds are those that a CustomResourceDefinition defines.
func customKinds(definition *unstructured.Unstructured) []*kind {
	text := func(path ...string) string {
		found, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, path...)...)
		return found
	}
	singular := text("names", "singular")
	if singular == "" {
		singular = strings.ToLower(text("names", "kind"))
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var kinds []*kind
	for _, each := range versions {
		row, _ := each.(map[string]any)
		if served, _ := row["served"].(bool); !served {
			continue
		}
		name, _ := row["name"].(string)
		_, status, _ := unstructured.NestedMap(row, "subresources", "status")
		made := &kind{
			gvk:           schema.GroupVersionKind{Group: text("group"), Version: name, Kind: text("names", "kind")},
			resource:      text("names", "plural"),
			singular:      singular,
			namespaced:    text("scope") == "Namespaced",
			hasStatus:     status,
			hasGeneration: true,
			needsVersion:  true,
		}
		made.managers = untypedManagers(made)
		kinds = append(kinds, made)
	}
	return kinds
}

func typedManagers(k *kind, types managedfields.TypeConverter) map[string]*managedfields.FieldManager {
	return managers(k, func(subresource string, reset map[fieldpath.APIVersion]fieldpath.Filter) (*managedfields.FieldManager, error) {
		return managedfields.NewDefaultFieldManager(
			types, asItIs{scheme}, scheme, scheme, k.gvk, k.gvk.GroupVersion(), subresource, reset)
	})
}

func untypedManagers(k *kind) map[string]*managedfields.FieldManager {
	types := managedfields.NewDeducedTypeConverter()
	return managers(k, func(subresource string, reset map[fieldpath.APIVersion]fieldpath.Filter) (*managedfields.FieldManager, error) {
		return managedfields.NewDefaultCRDFieldManager(
			types, untyped{}, untyped{}, untyped{}, k.gvk, k.gvk.GroupVersion(), subresource, reset)
	})
}

type newManager func(string, map[fieldpath.APIVersion]fieldpath.Filter) (*managedfields.FieldManager, error)

func managers(k *kind, made newManager) map[string]*managedfields.FieldManager {
	reset := map[string][]fieldpath.Path{"": nil}
	if k.hasStatus {
		reset[""] = []fieldpath.Path{fieldpath.MakePathOrDie("status")}
		reset["status"] = []fieldpath.Path{fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata", "labels")}
	}
	all := map[string]*managedfields.FieldManager{}
	for subresource, paths := range reset {
		filters := map[fieldpath.APIVersion]fieldpath.Filter{
			fieldpath.APIVersion(k.gvk.GroupVersion().String()): fieldpath.NewExcludeSetFilter(fieldpath.NewSet(paths...)),
		}
		manager, err := made(subresource, filters)
		if err != nil {
			panic(err)
		}
		all[subresource] = manager
	}
	return all
}

// asItIs converts without a copy, as the converter of a real server's field manager does.
type asItIs struct{ *runtime.Scheme }

func (c asItIs) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	return c.UnsafeConvertToVersion(in, target)
}

// untyped makes and converts objects that have one version only and no defaults.
type untyped struct{}

func (untyped) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetGroupVersionKind(gvk)
	return made, nil
}

func (untyped) Default(runtime.Object) {}

func (untyped) Convert(in, out, context any) error { panic("there is one version only") }

func (untyped) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (untyped) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
