// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"fmt"
	"maps"
	"reflect"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the strategies of pkg/registry in Kubernetes do before an object is stored.

// admit is the admission plugin NamespaceLifecycle.
func (m *member) admit(k *kind, namespace, name string) error {
	if !k.namespaced {
		return nil
	}
	namespaces := find(m.fleet.kinds, core.SchemeGroupVersion, "namespaces")
	found := m.get(namespaces, "", namespace)
	if found == nil {
		return errors.NewNotFound(namespaces.group(), namespace)
	}
	if found.fields["status.phase"] != string(core.NamespaceTerminating) {
		return nil
	}
	why := fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace)
	refused := errors.NewForbidden(k.group(), name, why)
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    core.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", namespace),
		Field:   "metadata.namespace",
	}}
	return refused
}

func (m *member) prepareCreate(k *kind, made object, dry bool) {
	if k.hasGeneration {
		made.SetGeneration(1)
	}
	switch typed := made.(type) {
	case *core.Namespace:
		typed.Status = core.NamespaceStatus{Phase: core.NamespaceActive}
		typed.Spec.Finalizers = []core.FinalizerName{core.FinalizerKubernetes}
		return
	case *core.Service:
		m.allocate(typed, dry)
	}
	if k.hasStatus && k.resource != "nodes" && k.resource != "pods" {
		setPart(made, "status", nil)
	}
	if k.gvk == definitions {
		established(made.(*unstructured.Unstructured))
	}
}

// allocate gives a Service its address, from 10.96.0.0/24 again and again.
func (m *member) allocate(found *core.Service, dry bool) {
	spec := &found.Spec
	if spec.Type == core.ServiceTypeExternalName {
		return
	}
	if spec.ClusterIP == "" {
		next := m.address%250 + 2
		if !dry {
			m.address = next
		}
		spec.ClusterIP = fmt.Sprintf("10.96.0.%d", next)
	}
	spec.ClusterIPs = []string{spec.ClusterIP}
	spec.IPFamilies = []core.IPFamily{core.IPv4Protocol}
	if spec.ClusterIP == core.ClusterIPNone && len(spec.Selector) == 0 {
		spec.IPFamilies = append(spec.IPFamilies, core.IPv6Protocol)
		pointer(&spec.IPFamilyPolicy, core.IPFamilyPolicyRequireDualStack)
	}
	pointer(&spec.IPFamilyPolicy, core.IPFamilyPolicySingleStack)
}

func prepareUpdate(k *kind, made, live object, subresource string) {
	made.SetGeneration(live.GetGeneration())
	switch typed := made.(type) {
	case *core.Namespace:
		typed.Spec.Finalizers = live.(*core.Namespace).Spec.Finalizers
	case *core.Service:
		keepAddress(&typed.Spec, &live.(*core.Service).Spec)
	}
	if subresource == "status" {
		setPart(made, "spec", part(live, "spec"))
		made.SetLabels(live.GetLabels())
		return
	}
	if k.hasStatus {
		setPart(made, "status", part(live, "status"))
	}
	if k.hasGeneration && differs(k, made, live) {
		made.SetGeneration(live.GetGeneration() + 1)
	}
}

func keepAddress(spec, before *core.ServiceSpec) {
	if spec.Type == core.ServiceTypeExternalName || spec.ClusterIP != "" {
		return
	}
	spec.ClusterIP, spec.ClusterIPs = before.ClusterIP, before.ClusterIPs
	spec.IPFamilies, spec.IPFamilyPolicy = before.IPFamilies, before.IPFamilyPolicy
}

func differs(k *kind, made, live object) bool {
	if k.resource == "deployments" && !equality.Semantic.DeepEqual(made.GetAnnotations(), live.GetAnnotations()) {
		return true
	}
	loose, ok := made.(*unstructured.Unstructured)
	if !ok {
		return !equality.Semantic.DeepEqual(part(made, "spec"), part(live, "spec"))
	}
	now, before := maps.Clone(loose.Object), maps.Clone(live.(*unstructured.Unstructured).Object)
	for _, each := range []map[string]any{now, before} {
		delete(each, "metadata")
		delete(each, "status")
	}
	return !equality.Semantic.DeepEqual(now, before)
}

var parts = map[string]string{"spec": "Spec", "status": "Status"}

// part is spec or status; nil if the object has none.
func part(of object, name string) any {
	if loose, ok := of.(*unstructured.Unstructured); ok {
		return loose.Object[name]
	}
	if found := reflect.ValueOf(of).Elem().FieldByName(parts[name]); found.IsValid() {
		return found.Interface()
	}
	return nil
}

// setPart sets spec or status; nil empties it.
func setPart(of object, name string, value any) {
	if loose, ok := of.(*unstructured.Unstructured); ok {
		if value == nil {
			delete(loose.Object, name)
		} else {
			loose.Object[name] = value
		}
		return
	}
	found := reflect.ValueOf(of).Elem().FieldByName(parts[name])
	switch {
	case !found.IsValid():
	case value == nil:
		found.SetZero()
	default:
		found.Set(reflect.ValueOf(value))
	}
}

func invalid(k *kind, made object) field.ErrorList {
	names := validation.NameIsDNSSubdomain
	switch k.resource {
	case "namespaces":
		names = validation.NameIsDNSLabel
	case "services":
		names = validation.NameIsDNS1035Label
	case "roles", "rolebindings", "clusterroles", "clusterrolebindings":
		names = func(string, bool) []string { return nil }
	}
	return validation.ValidateObjectMetaAccessor(made, k.namespaced, names, field.NewPath("metadata"))
}

// established is what the API server itself tells of a CustomResourceDefinition.
func established(definition *unstructured.Unstructured) {
	names, _, _ := unstructured.NestedMap(definition.Object, "spec", "names")
	now := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
	condition := func(kind, reason, message string) any {
		return map[string]any{
			"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now,
		}
	}
	definition.Object["status"] = map[string]any{
		"acceptedNames": names,
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
		},
		"storedVersions": storedVersions(definition),
	}
}

func storedVersions(definition *unstructured.Unstructured) []any {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var found []any
	for _, each := range versions {
		if row, _ := each.(map[string]any); row["storage"] == true {
			found = append(found, row["name"])
		}
	}
	return found
}
