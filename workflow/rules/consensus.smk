# Consensus and spectra, with no learning.


rule consensus:
    """Simulate consensus from one state for several p."""
    input:
        code=get_code("ngo.consensus", "ngo.results"),
    output:
        "results/metrics/consensus_{artefact}.parquet",
    log:
        "logs/consensus/{artefact}.log",
    params:
        flags=lambda wildcards: get_flags(
            {
                name: value
                for name, value in PLAN.consensus[wildcards.artefact].items()
                if name != "consensus_share"
            }
        ),
        code=get_code_fingerprint("ngo.consensus", "ngo.results"),
    shell:
        "ngo consensus {params.flags:q} --out {output} > {log} 2>&1"


rule spectra:
    """Compute degrees and spectral gaps."""
    input:
        code=get_code("ngo.results"),
    output:
        "results/metrics/spectra_{artefact}.parquet",
    log:
        "logs/spectra/{artefact}.log",
    params:
        flags=lambda wildcards: get_flags(PLAN.spectra[wildcards.artefact]),
        code=get_code_fingerprint("ngo.results"),
    shell:
        "ngo spectra {params.flags:q} --out {output} > {log} 2>&1"


rule classes:
    """Count the samples per class and worker of the partitions on show."""
    input:
        partitions=get_shown_partitions,
        code=get_code("ngo.results"),
    output:
        "results/metrics/classes_{artefact}.parquet",
    log:
        "logs/classes/{artefact}.log",
    params:
        code=get_code_fingerprint("ngo.results"),
    shell:
        "ngo classes {input.partitions} --out {output} > {log} 2>&1"
