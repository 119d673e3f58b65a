#!/bin/bash
# packages.sh: deb, rpm, OCI images, Windows zip and MSI, SBOM and checksums into dist/. Twice built from one commit they are the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
release=$(sed -n 's/^\tversion = "\(.*\)"$/\1/p' cmd/hostlab/cmd_version.go)
version=${VERSION:-$(git describe --tags --exact-match 2>/dev/null || echo "$release+$(git rev-list --count HEAD)")} # sorts behind the release
version=${version#v}
commit=$(git rev-parse --short=12 HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0 VERSION=$version ARCH
tools=$PWD/bin
for tool in github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0 github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0; do
  GOBIN=$tools go install "$tool"
done
for program in umoci wixl msibuild faketime zip jq uuidgen; do
  command -v "$program" >/dev/null || { echo "packages: $program is missing; on Debian: apt-get install umoci wixl msitools faketime zip jq uuid-runtime" >&2; exit 1; }
done
rm -rf dist && mkdir -p dist
work=$(mktemp -d); trap 'rm -rf "$work" dist/stage' EXIT
stamp() { find "$@" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

# build OS ARCH FILE
build() {
  GOOS=$1 GOARCH=$2 make -s build OUT="$3" VERSION="$version" COMMIT="$commit"
  [ "$(stat -c %s "$3")" -le 60000000 ] || { echo "packages: $3 has grown beyond 60 MB" >&2; exit 1; }
  "$tools/cyclonedx-gomod" bin -json -noserial -version "$version" "$3" | jq 'del(.metadata.timestamp)' > "dist/$4.cdx.json"
}

# image ARCH: an OCI image of the binary alone.
image() {
  local tag=${version//[~+]/-} layout=$work/oci-$1 root=$work/root-$1
  mkdir -p "$root/usr/bin" "$root/usr/share/licenses/hostlab"
  cp "$work/$1/hostlab" "$root/usr/bin/"; cp LICENSE NOTICE "$root/usr/share/licenses/hostlab/"
  stamp "$root"
  local at; at=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)
  umoci init --layout "$layout"
  umoci new --image "$layout:$tag"
  umoci insert --history.created "$at" --image "$layout:$tag" "$root/usr" /usr
  umoci config --image "$layout:$tag" --created "$at" --history.created "$at" --architecture "$1" --os linux \
    --config.entrypoint /usr/bin/hostlab --config.cmd --help
  umoci gc --layout "$layout"
  # The name that podman and docker load it by.
  jq --arg name "hostlab:$tag" '.manifests[0].annotations["org.opencontainers.image.ref.name"] = $name' "$layout/index.json" > "$work/index"
  mv "$work/index" "$layout/index.json"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$layout" -cf "dist/hostlab-$version-$1.oci.tar" .
}

here=$work/here; go build -o "$here" ./cmd/hostlab
for ARCH in amd64 arm64; do
  STAGE=$PWD/dist/stage; rm -rf "$STAGE"; mkdir -p "$STAGE/man" "$work/$ARCH"
  build linux "$ARCH" "$STAGE/hostlab" "hostlab-linux-$ARCH"
  cp "$STAGE/hostlab" "$work/$ARCH/hostlab"
  # The pages and completions are the same everywhere: a binary for this machine writes them.
  "$here" man "$STAGE/man" >/dev/null
  gzip -9n "$STAGE"/man/*
  for shell in bash fish; do "$here" completion "$shell" > "$STAGE/hostlab.$shell"; done
  "$here" completion zsh > "$STAGE/_hostlab"
  gzip -9nc > "$STAGE/changelog.gz" <<END
hostlab ($version) unstable; urgency=medium

  * See CHANGELOG.md.

 -- The hostlab authors <packages@hostlab.example.org>  $(date -uR -d "@$SOURCE_DATE_EPOCH")
END
  gzip -9nc CHANGELOG.md > "$STAGE/CHANGELOG.md.gz"; gzip -9nc NOTICE > "$STAGE/NOTICE.gz"
  stamp "$STAGE"
  for kind in deb rpm; do "$tools/nfpm" package --config deploy/package/nfpm.yaml --packager "$kind" --target dist/; done
  image "$ARCH"
done
rm -rf dist/stage

# Windows: a zip, and an MSI.
mkdir "$work/windows"
build windows amd64 "$work/windows/hostlab.exe" hostlab-windows-amd64
cp LICENSE NOTICE README.md testbed/windows.ps1 "$work/windows/"
mkdir -p "$work/windows/docs/schema"; cp docs/*.md docs/*.png "$work/windows/docs/"; cp docs/schema/*.json "$work/windows/docs/schema/"
stamp "$work/windows"
(cd "$work/windows" && TZ=UTC zip -X -q -r "$OLDPWD/dist/hostlab-$version-windows-amd64.zip" LICENSE NOTICE README.md docs hostlab.exe windows.ps1)
number=$(sed -E 's/[^0-9.].*//; s/$/.0.0.0/' <<<"$version" | cut -d. -f1-3) # as Windows has them
product=$(uuidgen --sha1 --namespace @url --name "hostlab $version")
msi=$PWD/dist/hostlab-$version-windows-amd64.msi wxs=$PWD/deploy/package/hostlab.wxs
at() { faketime -f "$(date -u -d "@$SOURCE_DATE_EPOCH" '+%F %T')" "$@"; }
(cd "$work/windows" && TZ=UTC at wixl -a x64 -D "Version=$number" -D "Product=$product" -o "$msi" "$wxs")
# wixl knows no <Environment>: the program is to be in the PATH of new consoles.
action='INSERT INTO `InstallExecuteSequence` (`Action`, `Sequence`) VALUES'
TZ=UTC at msibuild "$msi" -q 'CREATE TABLE `Environment` (`Environment` CHAR(72) NOT NULL, `Name` CHAR(255) NOT NULL LOCALIZABLE, `Value` CHAR(255)
    LOCALIZABLE, `Component_` CHAR(72) NOT NULL PRIMARY KEY `Environment`)' \
  -q "INSERT INTO \`Environment\` (\`Environment\`, \`Name\`, \`Value\`, \`Component_\`) VALUES ('PATH', '=-*PATH', '[~];[INSTALLDIR]', 'Program')" \
  -q "$action ('RemoveEnvironmentStrings', 3300)" -q "$action ('WriteEnvironmentStrings', 5200)"
TZ=UTC at msibuild "$msi" -s hostlab 'The hostlab authors' 'x64;1033' "{${product^^}}" # else the UUID is a random one
(cd dist && sha256sum -- * > SHA256SUMS)
ls -l dist
