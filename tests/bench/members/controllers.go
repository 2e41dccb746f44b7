// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"slices"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	controllerManager  = "kube-controller-manager"
	revisionAnnotation = "deployment.kubernetes.io/revision"
)

// control does at once what the controllers of a real cluster would do soon after a write. The lock is held.
func (m *member) control(k *kind, namespace, name string) {
	if !m.fleet.controllers {
		return
	}
	found := m.get(k, namespace, name)
	switch {
	case found == nil:
	case k.resource == "deployments":
		m.rollOut(k, found)
	case ends(k) && found.fields["status.phase"] == string(core.NamespaceTerminating):
		m.end(k, found)
	default:
		m.collectGarbage(k, found)
	}
}

// rollOut makes all replicas of a deployment available.
func (m *member) rollOut(k *kind, found *stored) {
	made, live := decode(k, found).(*apps.Deployment), decode(k, found).(*apps.Deployment)
	if made.Status.ObservedGeneration == made.Generation {
		return
	}
	now := metav1.Now().Rfc3339Copy()
	condition := func(kind apps.DeploymentConditionType, reason, message string) apps.DeploymentCondition {
		return apps.DeploymentCondition{
			Type: kind, Status: core.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now, Reason: reason, Message: message,
		}
	}
	if made.Annotations == nil {
		made.Annotations = map[string]string{}
	}
	made.Annotations[revisionAnnotation] = "1"
	replicas := *made.Spec.Replicas
	made.Status = apps.DeploymentStatus{
		ObservedGeneration: made.Generation,
		Replicas:           replicas,
		UpdatedReplicas:    replicas,
		ReadyReplicas:      replicas,
		AvailableReplicas:  replicas,
		Conditions: []apps.DeploymentCondition{
			condition(apps.DeploymentAvailable, "MinimumReplicasAvailable", "Deployment has minimum availability."),
			condition(apps.DeploymentProgressing, "NewReplicaSetAvailable",
				"ReplicaSet \""+made.Name+"-5d59d67564\" has successfully progressed."),
		},
	}
	m.put(k, k.managers["status"].UpdateNoErrors(live, made, controllerManager).(object))
}

// end removes what is in a namespace, and the namespace.
func (m *member) end(k *kind, found *stored) {
	for _, each := range m.kept {
		for _, one := range each.objects {
			if one.namespace == found.name {
				each.objects = without(each.objects, found.name)
				break
			}
		}
	}
	if gone := decode(k, found); len(gone.GetFinalizers()) == 0 {
		m.drop(k, gone)
	}
}

func without(objects map[string]*stored, namespace string) map[string]*stored {
	left := map[string]*stored{}
	for key, each := range objects {
		if each.namespace != namespace {
			left[key] = each
		}
	}
	return left
}

// collectGarbage takes away the finalizers that the garbage collector owns; nothing here has dependents.
func (m *member) collectGarbage(k *kind, found *stored) {
	gone := decode(k, found)
	if gone.GetDeletionTimestamp() == nil {
		return
	}
	left := slices.DeleteFunc(gone.GetFinalizers(), func(each string) bool {
		return each == metav1.FinalizerDeleteDependents || each == metav1.FinalizerOrphanDependents
	})
	if len(left) == 0 {
		m.drop(k, gone)
	}
}
