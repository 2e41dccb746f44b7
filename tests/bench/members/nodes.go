// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeSets is how many different sets of nodes and pods there are; members share them until they write to one.
const nodeSets = 8

// nodeSet is the nodes and pods of some members, made when one of them is first asked for anything.
type nodeSet struct {
	*settings
	number             int
	nodeOnce, podOnce  sync.Once
	nodeItems, podItem map[string]*stored
	pages              sync.Map
}

// shape is a size of nodes, as large clouds sell them.
type shape struct {
	name             string
	cores, gibibytes int64
}

var (
	shapes = []shape{{"m6.xlarge", 4, 16}, {"m6.2xlarge", 8, 32}, {"c6.4xlarge", 16, 32}, {"r6.2xlarge", 8, 64}}
	zones  = []string{"a", "b", "c"}
	pools  = []string{"system", "general", "batch"}
	images = []string{
		"registry.example/platform/ingress-controller", "registry.example/platform/node-agent", "registry.example/shop/cart",
		"registry.example/shop/checkout", "registry.example/shop/search", "registry.k8s.io/coredns/coredns",
		"registry.k8s.io/kube-proxy", "registry.k8s.io/pause",
	}
)

func (s *nodeSet) nodes(k *kind) map[string]*stored {
	s.nodeOnce.Do(func() {
		s.nodeItems = map[string]*stored{}
		random := rand.New(rand.NewPCG(s.seed, uint64(s.number)<<32))
		for number := range s.settings.nodes {
			s.keep(k, s.nodeItems, s.node(random, number), "kubelet")
		}
	})
	return s.nodeItems
}

func (s *nodeSet) pods(k *kind) map[string]*stored {
	s.podOnce.Do(func() {
		s.podItem = map[string]*stored{}
		random := rand.New(rand.NewPCG(s.seed, uint64(s.number)<<32+1))
		for number := range s.settings.pods {
			s.keep(k, s.podItem, s.pod(random, number), "kube-controller-manager")
		}
	})
	return s.podItem
}

// keep stores what one manager made and a kubelet reported on.
func (s *nodeSet) keep(k *kind, to map[string]*stored, made object, manager string) {
	if s.lean {
		made = lean(made)
	} else {
		bare := made.DeepCopyObject().(object)
		setPart(bare, "status", nil)
		live := k.managers[""].UpdateNoErrors(k.new(), bare, manager).(object)
		made.SetManagedFields(live.GetManagedFields())
		made = k.managers["status"].UpdateNoErrors(live, made, "kubelet").(object)
	}
	made.SetResourceVersion(strconv.Itoa(firstRevision - 1 - len(to)))
	one := pack(k, made)
	to[one.key()] = one
}

// lean leaves of a node or a pod what schedulers look at: a fifth of what real ones hold.
func lean(made object) object {
	made.SetAnnotations(nil)
	made.SetOwnerReferences(nil)
	switch typed := made.(type) {
	case *core.Node:
		typed.Spec = core.NodeSpec{}
		typed.Status.Images, typed.Status.Addresses = nil, nil
		typed.Status.Conditions = typed.Status.Conditions[len(typed.Status.Conditions)-1:]
	case *core.Pod:
		first := typed.Spec.Containers[0]
		containers := []core.Container{{Name: first.Name, Image: first.Image, Resources: first.Resources}}
		typed.Spec = core.PodSpec{NodeName: typed.Spec.NodeName, Containers: containers}
		typed.Status = core.PodStatus{Phase: typed.Status.Phase}
	}
	return made
}

func randomUID(random *rand.Rand) types.UID {
	high, low := random.Uint64(), random.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
		high>>32, high>>16&0xffff, high&0xfff, low>>48&0xfff, low&0xffffffffffff))
}

func (s *nodeSet) nodeName(number int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.compute.internal", s.number, number/250, number%250+4)
}

func (s *nodeSet) node(random *rand.Rand, number int) *core.Node {
	size, zone, pool := shapes[random.IntN(len(shapes))], "eu-1"+zones[number%len(zones)], pools[number%len(pools)]
	name := s.nodeName(number)
	capacity := core.ResourceList{
		"cpu":               *resource.NewQuantity(size.cores, resource.DecimalSI),
		"memory":            *resource.NewQuantity((size.gibibytes<<20-random.Int64N(1<<18))<<10, resource.BinarySI),
		"ephemeral-storage": resource.MustParse("104845292Ki"),
		"pods":              resource.MustParse("110"),
		"hugepages-1Gi":     resource.MustParse("0"),
		"hugepages-2Mi":     resource.MustParse("0"),
	}
	allocatable := capacity.DeepCopy()
	allocatable["cpu"] = *resource.NewMilliQuantity(size.cores*1000-80, resource.DecimalSI)
	allocatable["ephemeral-storage"] = resource.MustParse("95551679124")
	return &core.Node{
		TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			UID:               randomUID(random),
			CreationTimestamp: metav1.NewTime(started.Add(time.Duration(number) * time.Minute)),
			Labels: map[string]string{
				"beta.kubernetes.io/arch":          "amd64",
				"beta.kubernetes.io/os":            "linux",
				"kubernetes.io/arch":               "amd64",
				"kubernetes.io/hostname":           name,
				"kubernetes.io/os":                 "linux",
				"karpenter.sh/nodepool":            pool,
				"node.kubernetes.io/instance-type": size.name,
				"topology.kubernetes.io/region":    "eu-1",
				"topology.kubernetes.io/zone":      zone,
			},
			Annotations: map[string]string{
				"csi.volume.kubernetes.io/nodeid":                        `{"csi.example":"i-` + name + `"}`,
				"node.alpha.kubernetes.io/ttl":                           "0",
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		Spec: core.NodeSpec{
			PodCIDR: "10.244.1.0/24", PodCIDRs: []string{"10.244.1.0/24"}, ProviderID: "example:///" + zone + "/" + name,
		},
		Status: core.NodeStatus{
			Capacity:    capacity,
			Allocatable: allocatable,
			Conditions:  nodeConditions(),
			Addresses: []core.NodeAddress{
				{Type: core.NodeInternalIP, Address: fmt.Sprintf("10.%d.%d.%d", s.number, number/250, number%250+4)},
				{Type: core.NodeHostName, Address: name},
			},
			DaemonEndpoints: core.NodeDaemonEndpoints{KubeletEndpoint: core.DaemonEndpoint{Port: 10250}},
			NodeInfo: core.NodeSystemInfo{
				MachineID:               fmt.Sprintf("ec2%029x", random.Uint64()),
				SystemUUID:              string(randomUID(random)),
				BootID:                  string(randomUID(random)),
				KernelVersion:           "6.12.58-amd64",
				OSImage:                 "Bottlerocket OS 1.50.0",
				ContainerRuntimeVersion: "containerd://2.1.5",
				KubeletVersion:          s.version,
				OperatingSystem:         "linux",
				Architecture:            "amd64",
			},
			Images: nodeImages(random),
		},
	}
}

func nodeConditions() []core.NodeCondition {
	condition := func(kind core.NodeConditionType, status core.ConditionStatus, reason, message string) core.NodeCondition {
		return core.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: metav1.NewTime(started), LastTransitionTime: metav1.NewTime(started),
		}
	}
	no := core.ConditionFalse
	return []core.NodeCondition{
		condition("MemoryPressure", no, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition("DiskPressure", no, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition("PIDPressure", no, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition("Ready", core.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

func digest(random *rand.Rand) string {
	return fmt.Sprintf("@sha256:%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
}

func nodeImages(random *rand.Rand) []core.ContainerImage {
	var found []core.ContainerImage
	for _, name := range images {
		found = append(found, core.ContainerImage{
			Names: []string{name + digest(random), name + ":v1.2.3"}, SizeBytes: 1<<20 + random.Int64N(1<<28),
		})
	}
	return found
}

func (s *nodeSet) pod(random *rand.Rand, number int) *core.Pod {
	image := images[random.IntN(len(images))]
	app := fmt.Sprintf("app-%02d", number/10)
	set := fmt.Sprintf("%s-%010x", app, random.Uint64()&0xffffffffff)
	namespace := "default"
	if number%10 == 9 {
		namespace = "kube-system"
	}
	yes, grace, seconds := true, int64(30), int64(300)
	began := metav1.NewTime(started.Add(time.Duration(number) * time.Second))
	requests := core.ResourceList{
		"cpu":    *resource.NewMilliQuantity(50+50*random.Int64N(10), resource.DecimalSI),
		"memory": *resource.NewQuantity((64+64*random.Int64N(8))<<20, resource.BinarySI),
	}
	node := ""
	if s.settings.nodes > 0 {
		node = s.nodeName(number % s.settings.nodes)
	}
	return &core.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              fmt.Sprintf("%s-%05d", set, number),
			GenerateName:      set + "-",
			Namespace:         namespace,
			UID:               randomUID(random),
			CreationTimestamp: began,
			Labels:            map[string]string{"app.kubernetes.io/name": app, "pod-template-hash": set[len(app)+1:]},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: randomUID(random), Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: core.PodSpec{
			Containers: []core.Container{{
				Name:                     "main",
				Image:                    image + ":v1.2.3",
				Ports:                    []core.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: core.ProtocolTCP}},
				Env:                      []core.EnvVar{{Name: "LOG_LEVEL", Value: "info"}},
				Resources:                core.ResourceRequirements{Requests: requests, Limits: core.ResourceList{"memory": requests["memory"]}},
				VolumeMounts:             []core.VolumeMount{{Name: "kube-api-access", ReadOnly: true, MountPath: serviceAccount}},
				TerminationMessagePath:   core.TerminationMessagePathDefault,
				TerminationMessagePolicy: core.TerminationMessageReadFile,
				ImagePullPolicy:          core.PullIfNotPresent,
			}},
			Volumes:                       []core.Volume{{Name: "kube-api-access", VolumeSource: core.VolumeSource{Projected: &core.ProjectedVolumeSource{}}}},
			RestartPolicy:                 core.RestartPolicyAlways,
			TerminationGracePeriodSeconds: &grace,
			DNSPolicy:                     core.DNSClusterFirst,
			ServiceAccountName:            "default",
			NodeName:                      node,
			SecurityContext:               &core.PodSecurityContext{},
			SchedulerName:                 core.DefaultSchedulerName,
			Tolerations: []core.Toleration{
				{Key: core.TaintNodeNotReady, Operator: core.TolerationOpExists, Effect: core.TaintEffectNoExecute, TolerationSeconds: &seconds},
				{Key: core.TaintNodeUnreachable, Operator: core.TolerationOpExists, Effect: core.TaintEffectNoExecute, TolerationSeconds: &seconds},
			},
			EnableServiceLinks: &yes,
		},
		Status: podStatus(random, image, began),
	}
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

func podStatus(random *rand.Rand, image string, began metav1.Time) core.PodStatus {
	var conditions []core.PodCondition
	for _, kind := range []core.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, core.PodCondition{Type: kind, Status: core.ConditionTrue, LastTransitionTime: began})
	}
	yes, ip := true, fmt.Sprintf("10.244.%d.%d", random.IntN(250), random.IntN(250)+1)
	return core.PodStatus{
		Phase:      core.PodRunning,
		Conditions: conditions,
		HostIP:     "10.0.0.4",
		PodIP:      ip,
		PodIPs:     []core.PodIP{{IP: ip}},
		StartTime:  &began,
		ContainerStatuses: []core.ContainerStatus{{
			Name:        "main",
			State:       core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: began}},
			Ready:       true,
			Image:       image + ":v1.2.3",
			ImageID:     image + digest(random),
			ContainerID: fmt.Sprintf("containerd://%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()),
			Started:     &yes,
		}},
		QOSClass: core.PodQOSBurstable,
	}
}
