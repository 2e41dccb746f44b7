// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// stored is one object, never changed. raw is its JSON without kind and apiVersion.
type stored struct {
	namespace, name, uid, version string
	labels                        map[string]string
	fields                        fields.Set
	raw                           []byte
}

func (s *stored) key() string {
	return s.namespace + "/" + s.name
}

// collection is all objects of one kind. While shared it belongs to several members and is not changed.
type collection struct {
	objects map[string]*stored
	shared  *nodeSet
}

// member is one API server. It is empty until it is first asked.
type member struct {
	fleet  *fleet
	number int
	lock   sync.Mutex
	// revision counts writes, as that of etcd does.
	revision int64
	random   *rand.Rand
	kept     map[*kind]*collection
	custom   map[string][]*kind
	address  byte
}

func newMember(all *fleet, number int) *member {
	made := &member{fleet: all, number: number}
	made.reset()
	return made
}

func (m *member) reset() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.kept, m.custom, m.revision = nil, nil, firstRevision
	m.random = rand.New(rand.NewPCG(m.fleet.seed, uint64(m.number)))
	m.address = 0
}

const firstRevision = 1000

// begin fills a member that is asked for the first time. The lock is held.
func (m *member) begin() {
	if m.kept != nil {
		return
	}
	m.kept, m.custom = map[*kind]*collection{}, map[string][]*kind{}
	set := m.fleet.sets[m.number%len(m.fleet.sets)]
	for _, each := range m.fleet.kinds {
		switch each.resource {
		case "nodes":
			m.kept[each] = &collection{objects: set.nodes(each), shared: set}
		case "pods":
			m.kept[each] = &collection{objects: set.pods(each), shared: set}
		case "namespaces":
			for _, name := range m.fleet.namespaces {
				m.beginNamespace(each, name)
			}
		}
	}
}

func (m *member) beginNamespace(k *kind, name string) {
	found := k.new().(*core.Namespace)
	found.Name = name
	scheme.Default(found)
	found = k.managers[""].UpdateNoErrors(k.new(), found, "kube-apiserver").(*core.Namespace)
	found.UID = types.UID(m.newUID())
	found.CreationTimestamp = metav1.NewTime(started)
	found.Spec.Finalizers = []core.FinalizerName{core.FinalizerKubernetes}
	m.put(k, found)
}

var started = time.Now().Add(-30 * 24 * time.Hour).Truncate(time.Second)

func (m *member) allKinds() []*kind {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.begin()
	all := m.fleet.kinds
	for _, name := range slices.Sorted(maps.Keys(m.custom)) {
		all = append(all[:len(all):len(all)], m.custom[name]...)
	}
	return all
}

func (m *member) uid() string {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.newUID()
}

func (m *member) newUID() string {
	high, low := m.random.Uint64(), m.random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", high>>32, high>>16&0xffff, high&0xfff, low>>48&0x3fff|0x8000, low&0xffffffffffff)
}

func (m *member) collection(k *kind) *collection {
	m.begin() // a reset may have come since the request did
	found := m.kept[k]
	if found == nil {
		found = &collection{objects: map[string]*stored{}}
		m.kept[k] = found
	}
	return found
}

func (m *member) get(k *kind, namespace, name string) *stored {
	return m.collection(k).objects[namespace+"/"+name]
}

// put stores an object under a new resourceVersion, which it sets.
func (m *member) put(k *kind, changed object) {
	m.revision++
	changed.SetResourceVersion(strconv.FormatInt(m.revision, 10))
	m.own(k).objects[changed.GetNamespace()+"/"+changed.GetName()] = pack(k, changed)
	m.defined(k, changed)
}

func (m *member) drop(k *kind, gone object) {
	m.revision++
	delete(m.own(k).objects, gone.GetNamespace()+"/"+gone.GetName())
	if k.gvk == definitions {
		for _, each := range m.custom[gone.GetName()] {
			delete(m.kept, each)
		}
		delete(m.custom, gone.GetName())
	}
}

// own is the collection, no longer shared.
func (m *member) own(k *kind) *collection {
	found := m.collection(k)
	if found.shared != nil {
		found.objects, found.shared = maps.Clone(found.objects), nil
	}
	return found
}

// defined serves what a CustomResourceDefinition defines.
func (m *member) defined(k *kind, changed object) {
	if k.gvk != definitions {
		return
	}
	if old := m.custom[changed.GetName()]; old == nil {
		m.custom[changed.GetName()] = customKinds(changed.(*unstructured.Unstructured))
	}
}

// list is everything in a namespace, or in all, in the order of names.
func (m *member) list(k *kind, namespace string) []*stored {
	var found []*stored
	for _, each := range m.collection(k).objects {
		if namespace == "" || each.namespace == namespace {
			found = append(found, each)
		}
	}
	slices.SortFunc(found, func(a, b *stored) int { return cmp.Compare(a.key(), b.key()) })
	return found
}

func pack(k *kind, from object) *stored {
	return &stored{
		namespace: from.GetNamespace(),
		name:      from.GetName(),
		uid:       string(from.GetUID()),
		version:   from.GetResourceVersion(),
		labels:    from.GetLabels(),
		fields:    selectable(from),
		raw:       encode(k, from),
	}
}

// encode gives the JSON without kind and apiVersion, as items of typed lists have it.
func encode(k *kind, from object) []byte {
	var raw []byte
	var err error
	if loose, ok := from.(*unstructured.Unstructured); ok {
		bare := maps.Clone(loose.Object)
		delete(bare, "kind")
		delete(bare, "apiVersion")
		raw, err = json.Marshal(bare)
	} else {
		from.GetObjectKind().SetGroupVersionKind(emptyKind)
		raw, err = json.Marshal(from)
		from.GetObjectKind().SetGroupVersionKind(k.gvk)
	}
	if err != nil {
		panic(err)
	}
	return raw
}

// decode gives an object of the caller's own.
func decode(k *kind, from *stored) object {
	made := k.new()
	var into any = made
	if loose, ok := made.(*unstructured.Unstructured); ok {
		into = &loose.Object
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(from.raw, into); err != nil {
		panic(err)
	}
	made.GetObjectKind().SetGroupVersionKind(k.gvk)
	return made
}

// whole is the JSON with kind and apiVersion first, as real servers write it.
func whole(k *kind, raw []byte) []byte {
	apiVersion, name := k.gvk.ToAPIVersionAndKind()
	head := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, name, apiVersion)
	return append([]byte(head), raw[1:]...)
}
