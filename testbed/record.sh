#!/bin/bash
# record.sh [NAME...]: records the fixtures of internal/host/testdata, all or those named. Needs setup.sh and Go; 15
# guests of some five seconds each. cloud-guest records the machine this runs on, and is made only when named.
set -euo pipefail; cd "$(dirname "$0")"
all="intel-core intel-core-cst intel-socket intel-socket-hw intel-cpu smt-off tuned twosocket amd-epp bare pmem-raw pmem-fsdax dm-delay stacks container postgres mariadb vendors"
to=../internal/host/testdata; mkdir -p $to
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o out/record ./record
[ -d k ] || { echo "record: no kernel in k/: run setup.sh first" >&2; exit 1; }
kver=${KVER:-$(ls k | sort -V | tail -n1)}; today=$(date -u +%F); tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT

# guest NAME WHAT [PATH...]: one recording, with guest-run.sh's variables from the environment
guest() {
  local name=$1 what=$2; shift 2
  ./guest-run.sh "${BIN:-out/record}" ${BIN:+/job/record} \
    -comment "$what"$'\n'"QEMU guest (TCG, no KVM), Debian kernel $kver. Recorded by testbed/record.sh on $today." "$@" > "$tmp/x"
  mv "$tmp/x" "$to/$name.txtar"; printf '%-18s %7d bytes %5d members\n' "$name" "$(stat -c %s "$to/$name.txtar")" "$(grep -ac '^-- .* --$' "$to/$name.txtar")"
}
disk() { rm -f "out/$1.img"; truncate -s "$2" "out/$1.img"; }
cpus="4 CPUs, 2 cores of 2 threads; acpi-cpufreq, 1.2-2.4 GHz and turbo"
nvdimm() { # NVDIMM NAME WHAT SHELL
  disk "$1" 352M; PMEM=out/$1.img MODULES="nfit nd_pmem dax_pmem ext4" TOOLS=1 PRE="$3" \
    FILES="guest/fsdax.sh" PROFILE=bare guest "$1" "$2" /mnt/p /mnt/p/log; rm -f "out/$1.img"
}

servers() { # SERVERS NAME WHAT SHELL: with the servers of out/servers.img
  [ -e out/servers.img ] || ./mkservers.sh
  DRIVES="file=out/servers.img,format=raw,snapshot=on" BLKOPT=,num-queues=4 MODULES="virtio_blk acpi-cpufreq" MEM=1G TIMEOUT=400 FILES=guest/servers.sh \
    SSDT=core PRE=". /job/servers.sh; $3" guest "$1" "$2"
}

for n in ${*:-$all}; do
  case $n in
    postgres) # as TuneD's profile postgresql leaves a host; TuneD itself needs more than a guest has
      servers $n "$cpus. PostgreSQL 15 as Debian's package runs it, with what TuneD's profile postgresql sets." '
        for p in /sys/devices/system/cpu/cpufreq/policy*; do echo performance > $p/scaling_governor; done; 
        ( exec 3>/dev/cpu_dma_latency; printf 0x00000001 >&3; exec sleep 3600 ) </dev/null >/dev/null 2>&1 & echo never > /sys/kernel/mm/transparent_hugepage/enabled
        sysctl -qw vm.dirty_background_bytes=67108864 vm.dirty_bytes=536870912 vm.swappiness=3 net.core.somaxconn=2048 kernel.sched_autogroup_enabled=0 2>/dev/null || :
        for d in /sys/block/vd*; do echo 4096 > $d/queue/read_ahead_kb; done; mkdir -p /mnt/d/etc/tuned; echo postgresql > /etc/tuned/active_profile; postgres' ;;
    mariadb) servers $n "$cpus. MariaDB 10.11 and Redis 7.0 as Debian's packages run them, PostgreSQL 15 without the unit's score, beside
them; MariaDB's group may use 1.5 CPUs." 'mariadb; redis; postgres 0; echo 150000 100000 > /sys/fs/cgroup/system.slice/mariadb.service/cpu.max' ;;
    vendors) servers $n "$cpus. Servers that could not be installed: processes of their names, which only wait, with their directories." '
        mkdir -p /usr/sap/NPL/D00 /usr/sap/HDB/SYS/global/hdb/custom/config /hana/log /hana/data /var/lib/mongodb /var/log/mongodb /var/opt/mssql/data /u01/redo 2>/dev/null || :
        stand mongod --dbpath /var/lib/mongodb; stand ora_lgwr_ORCL; stand sqlservr; stand db2sysc; stand hdbindexserver -port 30003
        stand dataserver -d/opt/sap/data/master.dat; stand dw.sapNPL_D00; sleep 1' ;;
    intel-core)      SSDT=core      guest $n "$cpus, one frequency domain a core (_PSD SW_ANY)." ;;
    intel-core-cst)  SSDT=core-cst  guest $n "$cpus, one frequency domain a core; C1 to C3 of acpi_idle." ;;
    intel-socket)    SSDT=socket    guest $n "$cpus, one frequency domain for the socket (_PSD SW_ANY)." ;;
    intel-socket-hw) SSDT=socket-hw guest $n "$cpus, a policy for each CPU, coupled in hardware over the socket (_PSD HW_ALL)." ;;
    intel-cpu)       SSDT=cpu       guest $n "$cpus, one frequency domain a thread." ;;
    smt-off) SSDT=cpu PRE='echo off > /sys/devices/system/cpu/smt/control' guest $n "$cpus; one frequency domain a thread; SMT switched off at run time, CPUs 1 and 3 offline." ;;
    tuned) # what the recommendations for a production database ask for
      SSDT=core-cst PRE='for p in /sys/devices/system/cpu/cpufreq/policy*; do echo performance > $p/scaling_governor; done
        for s in /sys/devices/system/cpu/cpu*/cpuidle/state[23]; do echo 1 > $s/disable; done
        echo never > /sys/kernel/mm/transparent_hugepage/enabled; sysctl -qw vm.swappiness=10 vm.max_map_count=2147483647 kernel.pid_max=4194304
        sysctl -qw vm.dirty_bytes=629145600 vm.dirty_background_bytes=314572800 fs.aio-max-nr=1048576 kernel.numa_balancing=0
        sysctl -qw kernel.shmmni=32768 kernel.sem="32000 1024000000 500 32000"; mount -o remount,size=75% /dev/shm
        mkdir -p /etc/tuned; echo sap-hana > /etc/tuned/active_profile' \
        guest $n "$cpus; C1 to C3; set as a production database server should be." ;;
    twosocket) SMP=4,sockets=2,cores=2,threads=1 SSDT=twosocket MEM=512M \
      QEMU_EXTRA="-object memory-backend-ram,id=m0,size=256M -object memory-backend-ram,id=m1,size=256M -numa node,memdev=m0,cpus=0-1 -numa node,memdev=m1,cpus=2-3 -numa dist,src=0,dst=1,val=21" \
      guest $n "4 CPUs, 2 sockets and NUMA nodes of 2 cores without SMT; acpi-cpufreq, one frequency domain a socket." ;;
    amd-epp) PROFILE=amd MODULES= APPEND=amd_pstate=active guest $n "4 CPUs as an AMD EPYC family 17h; amd-pstate-epp." ;;
    bare)    PROFILE=bare guest $n "4 CPUs, 2 cores of 2 threads; no cpufreq, no C-states: most virtual machines." ;;
    pmem-raw) nvdimm $n "NVDIMM as it comes, raw: ext4 on /dev/pmem0 mounted at /mnt/p, without DAX." \
      '/tools/mke2fs -q -t ext4 /dev/pmem0; mkdir /mnt/p; mount -t ext4 /dev/pmem0 /mnt/p; echo x > /mnt/p/log' ;;
    pmem-fsdax) nvdimm $n "NVDIMM in fsdax mode: ext4 on /dev/pmem0 mounted at /mnt/p with dax=always." \
      '( . /job/fsdax.sh ); /tools/mke2fs -q -t ext4 -b 4096 /dev/pmem0; mkdir /mnt/p; mount -t ext4 -o dax=always /dev/pmem0 /mnt/p; echo x > /mnt/p/log' ;;
    dm-delay) # the log of a database on another, slower device than its data
      disk data 64M; disk log 64M
      DRIVES="file=out/data.img,format=raw,cache=writeback|file=out/log.img,format=raw,cache=none" MODULES="virtio_blk ext4 dm-delay" TOOLS=1 PROFILE=bare PRE='
        /tools/dmsetup create slow --table "0 $(cat /sys/block/vdb/size) delay /dev/vdb 0 0 /dev/vdb 0 5"; /tools/dmsetup mknodes
        /tools/mke2fs -q -t ext4 /dev/vda; /tools/mke2fs -q -t ext4 /dev/mapper/slow; mkdir -p /mnt/data /mnt/log
        mount -t ext4 /dev/vda /mnt/data; mount -t ext4 /dev/mapper/slow /mnt/log; mkdir -p /mnt/data/main /mnt/log/wal
        ln -s /mnt/log/wal /mnt/data/main/pg_wal; echo 15 > /mnt/data/main/PG_VERSION
        cp /job/bin /run/postgres; cd /mnt/data/main; /run/postgres -D /mnt/data/main </dev/null >/dev/null 2>&1 & sleep 1' \
        guest $n "4 CPUs; ext4 on a virtio disk, and ext4 on dm-delay (5 ms a write) on another, where the write-ahead log of a
PostgreSQL cluster lies by a link. The server process is a stand-in." /mnt/data /mnt/log
      rm -f out/data.img out/log.img ;;
    stacks) # a log below as many layers as are in use: file system, loop, file system, LVM, RAID 1, partitions, NVMe
      disk nv0 512M; disk nv1 512M
      QEMU_EXTRA="-drive if=none,id=n0,file=out/nv0.img,format=raw -device nvme,drive=n0,serial=0 -drive if=none,id=n1,file=out/nv1.img,format=raw -device nvme,drive=n1,serial=1" \
      MEM=768M MODULES="raid1 dm-mod loop xfs ext4" TOOLS=1 PROFILE=bare PRE='
        mkdir -p /etc/lvm /run/lock /run/lvm /mnt/data /mnt/log
        echo "devices { use_devicesfile=0 scan=[\"/dev\"] global_filter=[\"a|/dev/md|\",\"r|.*|\"] } global { event_activation=0 use_lvmpolld=0 } activation { udev_sync=0 udev_rules=0 monitoring=0 }" > /etc/lvm/lvm.conf
        for d in /dev/nvme0n1 /dev/nvme1n1; do printf "o\nn\np\n1\n\n\nw\n" | fdisk $d >/dev/null 2>&1 || :; done
        /tools/mdadm -q --create /dev/md0 --run --level=1 --raid-devices=2 --homehost=any --bitmap=none --assume-clean /dev/nvme0n1p1 /dev/nvme1n1p1
        /tools/lvm pvcreate -q /dev/md0; /tools/lvm vgcreate -q vg /dev/md0; /tools/lvm lvcreate -q -W n -L 330M -n data vg
        /tools/mkfs.xfs -q /dev/vg/data; mount -t xfs /dev/vg/data /mnt/data
        truncate -s 32M /mnt/data/log.img; l=$(losetup -f); losetup $l /mnt/data/log.img; /tools/mke2fs -q -t ext4 $l; mount -t ext4 $l /mnt/log' \
        guest $n "4 CPUs; XFS on LVM on a RAID 1 of two NVMe partitions, and ext4 on a loop device on a file there." /mnt/data /mnt/log
      rm -f out/nv0.img out/nv1.img ;;
    container) BIN=guest/container.sh FILES=out/record TOOLS=1 MODULES="acpi-cpufreq overlay" \
      guest $n "Container by crun $(crun --version | sed -n 's/^crun version //p'), user 65534 without capabilities, docker's masked paths, 1.5 CPUs and 256 MiB by cgroup v2." / ;;
    cloud-guest) # this machine, without what happens to run on it: mounts below /mnt, the name of its init, our cgroup
      cg=$(sed -n 's/^[0-9]*:memory:\/*//p' /proc/self/cgroup); init=$(cat /proc/1/comm)
      unshare -m sh -c 'awk "\$2 ~ /^.mnt/ { print \$2 }" /proc/mounts | xargs -r umount; exec "$@"' - \
        out/record -comment "Virtual machine of a cloud provider with 2 CPUs; cgroup v1 for limits, v2 without controllers."$'\n'"Kernel $(uname -r). Recorded by testbed/record.sh on $today." / > "$tmp/x"
      hex=$(echo "${cg##*/}" | tr '[:xdigit:]' 0 | sed 's/.$/1/')   # what the recording made of an id
      [ -z "$cg" ] || sed -i "s|${cg%/*}/$hex|system.slice/app.service|g; s|/${cg%%/*}\b|/system.slice|g" "$tmp/x"
      case $init in systemd|init) ;; *) sed -i "s|\b$init\b|init|g" "$tmp/x" ;; esac
      mv "$tmp/x" $to/$n.txtar ;;
    *) echo "record: no machine $n; there are: $all cloud-guest" >&2; exit 2 ;;
  esac
done
