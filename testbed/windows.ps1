# windows.ps1: records what hostlab sees of a real Windows, and does to its power schemes. Run it once as an administrator, beside
# hostlab.exe; it puts back what it sets, and writes the directory hostlab-windows. See docs/windows.md.
$ErrorActionPreference = 'Stop'
[Console]::OutputEncoding = [Text.Encoding]::UTF8 # as hostlab writes
$out = Join-Path (Get-Location) 'hostlab-windows'
New-Item -ItemType Directory -Path $out | Out-Null
# Keep writes what commands print. JSON stays as it is, so that 'hostlab check --root facts.json' reads it elsewhere.
function Keep($name, [scriptblock]$what) {
    $global:LASTEXITCODE = 0
    if ($name -like '*.json') { $text = (& { $ErrorActionPreference = 'Continue'; & $what }) -join "`n" }
    else { $text = & { $ErrorActionPreference = 'Continue'; & $what 2>&1 | Out-String } }
    Set-Content -Path (Join-Path $out $name) -Value $text -Encoding utf8
    Add-Content -Path (Join-Path $out 'status.txt') -Value "$name $LASTEXITCODE" -Encoding utf8
}
function Schemes { powercfg /list; powercfg /qh }
try {
    Keep 'version.txt' { .\hostlab.exe version; [Environment]::OSVersion.Version.ToString() }
    Keep 'facts.json' { .\hostlab.exe facts --format json }
    Keep 'counters.txt' { typeperf -sc 2 '\Processor Information(*)\% of Maximum Frequency' '\Processor Information(*)\% Processor Performance' '\Processor Information(*)\Parking Status' }
    Keep 'pstates.txt' { wevtutil qe System "/q:*[System[Provider[@Name='Microsoft-Windows-Kernel-Processor-Power'] and (EventID=55 or EventID=37)]]" /c:4 /rd:true /f:text }
    Keep 'assess.json' { .\hostlab.exe assess --service demo --for 10s --quick --quiet --format json }
    Keep 'services.txt' { sc.exe query type= service state= all | findstr MSSQL }
    Keep 'before.txt' { Schemes }
    Keep 'settings.json' { .\hostlab.exe settings --format json }
    Keep 'policy.txt' { .\hostlab.exe set power_scheme=SCHEME_MIN --dry-run; reg query HKLM\Software\Policies\Microsoft\Power\PowerSettings /s }
    Keep 'set.txt' { .\hostlab.exe set PERFEPP=0 PROCTHROTTLEMIN@ac=100 PERFBOOSTMODE=aggressive --yes }
    Keep 'copy.txt' { Schemes }
    Keep 'verify.txt' { .\hostlab.exe verify }
    Keep 'acl.txt' { icacls C:\ProgramData\hostlab }
    # Beyond what hostlab takes: into its copy, which goes afterwards.
    Keep 'clamp.txt' { powercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR PERFEPP 900; .\hostlab.exe settings PERFEPP }
}
finally {
    Keep 'revert.txt' { .\hostlab.exe revert --force }
    Keep 'scheme.txt' { .\hostlab.exe set power_scheme=SCHEME_MIN --yes; .\hostlab.exe revert }
    Keep 'after.txt' { Schemes }
}
if ((Get-Content "$out\before.txt" -Raw) -ne (Get-Content "$out\after.txt" -Raw)) { Write-Warning 'before.txt and after.txt differ: see revert.txt' }
Write-Output "Recorded in $out"
