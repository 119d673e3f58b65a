#!/bin/bash
# ansible-test.sh: is the collection built, installed and played against eight hosts over ssh? Root only. All happens in
# namespaces of its own. With -full also ansible-test sanity, ansible-lint, the pages of antsibull-docs, ansible-core 2.14, 100
# killed controllers, packages, and a guest of the test bed that reboots.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD full=
[ "${1:-}" != -full ] || full=1
tools=$here/testbed/dl/ansible
fail() { echo "ansible-test: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "needs root"
[ -x "$tools/bin/ansible-playbook" ] || fail "run scripts/test-deps.sh first"
[ -x bin/hostlab ] || make build
work=$(mktemp -d /tmp/hostlab-ansible-XXXXXX); trap 'rm -rf "$work"' EXIT
export PATH=$tools/bin:$PATH ANSIBLE_HOME=$work/home PYTHONDONTWRITEBYTECODE=1
export -n ANSIBLE_COLLECTIONS_PATH ANSIBLE_CONFIG

# The tarball, and what is installed of it.
ansible-galaxy collection build --output-path "$work" ansible >/dev/null
tarball=$(ls "$work"/hostlab-fleet-*.tar.gz)
size=$(stat -c %s "$tarball")
[ "$size" -le 204800 ] || fail "the tarball has $size bytes; at most 204800"
ansible-galaxy collection install --offline -p "$work/collections" "$tarball" >/dev/null 2>&1
at=$work/collections/ansible_collections/hostlab/fleet
(cd "$at" && python -m pytest -q -p no:cacheprovider --rootdir "$work/collections" --import-mode=importlib tests/unit) || fail "unit tests"

# play PYTHON SCRIPT [ARGUMENT...]: hosts, in a network of their own.
play() {
  unshare --mount --propagation private --net --pid --fork --uts --kill-child --mount-proc \
    "$1" "testbed/ansible/$2" "$work/collections" "$here/bin/hostlab" "${@:3}"
}
if [ -z "$full" ]; then
  play "$tools/bin/python" play.py
  exit
fi
./scripts/test-deps.sh venv ansible-full ansible-2.14
full=$here/testbed/dl/ansible-full/bin
# ansible-test wants to download what brings pip into its environments; Python has that itself.
home=$here/testbed/dl/ansible-home # Go keeps its caches where they are
mkdir -p "$home/.ansible/test/cache"
printf 'import ensurepip\n\nensurepip.bootstrap(default_pip=True)\n' > "$home/.ansible/test/cache/get_pip_24_2.py"
system=$full:/usr/sbin:/usr/bin:/sbin:/bin # without pyenv's names of Pythons that are not there
(cd "$at" && HOME=$home PATH=$system ansible-test sanity --venv --color no) || fail "sanity"
(cd "$at" && HOME=$home PATH=$system ansible-test units --venv --python 3.11 --color no) || fail "units"
export ANSIBLE_COLLECTIONS_PATH=$work/collections
# The source, which alone has galaxy.yml and what rules ask of it.
mkdir -p "$work/source/ansible_collections/hostlab" && cp -r ansible "$work/source/ansible_collections/hostlab/fleet"
(cd "$work/source/ansible_collections/hostlab/fleet" && PATH=$system ansible-lint --nocolor) || fail "ansible-lint"
(cd "$at" && PATH=$system antsibull-docs lint-collection-docs .) || fail "antsibull-docs"
mkdir "$work/pages"
PATH=$system antsibull-docs collection --use-current --dest-dir "$work/pages" --squash-hierarchy hostlab.fleet || fail "antsibull-docs"
[ -s "$work/pages/settings_module.rst" ] && [ -s "$work/pages/rollout_role.rst" ] || fail "antsibull-docs made no pages"
[ dist/SHA256SUMS -nt bin/hostlab ] || ./scripts/packages.sh
deb=$(ls "$here"/dist/hostlab_*_amd64.deb) rpm=$(ls "$here"/dist/hostlab-*.x86_64.rpm)
play "$tools/bin/python" play.py --full --trials 100 --package "$deb" --package "$rpm"
./testbed/setup.sh # a system image of before it had an ssh server answers nobody
play "$tools/bin/python" guest.py "$deb"
PATH=$here/testbed/dl/ansible-2.14/bin:$PATH play "$here/testbed/dl/ansible-2.14/bin/python" play.py
echo "ansible-test: sanity, units, lint, pages and both versions of ansible-core pass; the tarball has $size bytes"
