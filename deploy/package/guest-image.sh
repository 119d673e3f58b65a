#!/bin/sh
# Runs in a guest of the test bed (packages-test.sh): the image by crun, in namespaces of its own, then with the host's processes and
# /sys, as docs/install.md has it.
mount -t tmpfs image /mnt && cd /mnt && tar -xf /job/bundle.tar || exit 1
for how in own host; do
	echo "== $how"
	cp $how.json config.json
	/tools/crun --root /run/crun --cgroup-manager cgroupfs run --no-pivot $how 2>&1 || exit 1
done
