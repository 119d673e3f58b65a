package host

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"hostlab/internal/clouds"
	"hostlab/internal/testkit"
)

const ebs = `-- sys/class/block/nvme1n1/device/model --
Amazon Elastic Block Store
-- sys/class/block/nvme1n1/queue/scheduler --
[none]
-- sys/class/net/ens5/device/driver -> ../../../../bus/pci/drivers/ena --
`

// TestCloud: a volume's and an interface's limits, as they were counted, refused, or not there.
func TestCloud(t *testing.T) {
	disks := []BlockDevice{{Name: "nvme1n1", Model: Known("Amazon Elastic Block Store", "", "x")},
		{Name: "nvme0n1", Model: Known("SAMSUNG", "", "x")}}
	v, n := readCloud(tree(t, ebs+"-- .hostlab/cloud/nvme1n1 --\n"+volumeLines(clouds.Volume{VolumeIOPS: 12,
		InstanceThroughput: 0.5, Queue: 7})+
		"-- .hostlab/cloud/net-ens5 --\nbw_out: 12\npps: 946\n"), disks)
	if len(v) != 1 || v[0].VolumeIOPS.Or(-1) != 12 || v[0].VolumeThroughput.Or(-1) != 0 ||
		v[0].InstanceThroughput.Or(-1) != 0.5 || v[0].Queue.Or(-1) != 7 {
		t.Errorf("%+v", v)
	}
	if len(n) != 1 || n[0].Out.Or(-1) != 12 || n[0].Packets.Or(-1) != 946 || n[0].In.State != StateAbsent {
		t.Errorf("%+v", n)
	}
	v, n = readCloud(tree(t, ebs+"-- .hostlab/cloud/nvme1n1 --\n!errno EACCES\n"), disks)
	if len(v) != 1 || v[0].VolumeIOPS.State != StateDenied || v[0].Queue.State != StateDenied || len(n) != 1 ||
		n[0].In.State != StateAbsent {
		t.Errorf("%+v, %+v", v, n)
	}
	v, _ = readCloud(tree(t, ebs+"-- .hostlab/cloud/nvme1n1 --\n!errno EIO there is no device node\n"), disks)
	if v[0].VolumeIOPS.State != StateError || v[0].VolumeIOPS.Reason != "there is no device node" {
		t.Errorf("recorded with its reason: %+v", v)
	}
	_, n = readCloud(tree(t, ebs+"-- .hostlab/cloud/net-ens5 --\n!errno EOPNOTSUPP it counts none\n"), nil)
	if n[0].In.State != StateAbsent || n[0].LinkLocal.State != StateAbsent {
		t.Errorf("an old driver: %+v", n)
	}
	local := volumeLines(clouds.Volume{Local: true, InstanceIOPS: 3})
	if v, _ := readCloud(tree(t, ebs+"-- .hostlab/cloud/nvme1n1 --\n"+local),
		disks); v[0].VolumeIOPS.State != StateAbsent || v[0].InstanceIOPS.Or(0) != 3 {
		t.Errorf("a disk of the instance: %+v", v)
	}
	noting := Tree{notes: &notes{of: map[string]note{}, made: map[string]member{}}}
	for said, err := range map[string]error{"!errno EIO odd": errors.New("odd"), "!errno EIO": syscall.ENOTTY,
		"!errno EOPNOTSUPP": fmt.Errorf("none: %w", syscall.EOPNOTSUPP)} {
		if f := tellings(noting, "x", func() (string, error) { return "", err }); f.State != StateOf(err) ||
			string(noting.notes.made[madeCloud+"x"].data) != said {
			t.Errorf("%v: %+v, recorded as %q", err, f, noting.notes.made[madeCloud+"x"].data)
		}
	}
	if v, n := readCloud(tree(t, "-- x --\n"), nil); len(v)+len(n) != 0 {
		t.Errorf("no cloud: %+v, %+v", v, n)
	}
}

func TestCloudWords(t *testing.T) {
	for product, want := range map[string]bool{"Amazon EC2 t3.large": true, "Amazon EC2 t4g.micro": true,
		"Amazon EC2 m7i.large": false, "Amazon EC2 t3a.nano": true,
		"Amazon EC2 trn1.2xlarge": false, "Microsoft Corporation Virtual Machine": false, "": false} {
		f := &Facts{}
		f.Identity.Product = Known(product, "", "x")
		testkit.Is(t, want, f.Burstable(), product)
	}
	for hypervisor, says := range map[string]string{"hyper-v (Azure)": "Azure Monitor",
		"kvm (Google Cloud)": "Cloud Monitoring", "kvm (Amazon EC2)": "", "kvm": "", "none": ""} {
		f := &Facts{}
		f.Virt.Hypervisor = Known(hypervisor, "", "x")
		if got := f.UntoldLimits(); says == "" && got != "" || !strings.Contains(got, says) {
			t.Errorf("%s: %s", hypervisor, got)
		}
	}
}
