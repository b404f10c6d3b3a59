# What is measured without training, or on the models that training kept.


rule measure:
    """Measure what needs no training: consensus, spectra, throughput, theory."""
    input:
        data=get_measured_data,
        code=get_measure_code,
    output:
        "results/metrics/{kind}_{artefact}.parquet",
    log:
        "logs/measures/{kind}_{artefact}.log",
    wildcard_constraints:
        kind="consensus|spectra|throughput|theory",
    # A throughput is measured alone on the machine.
    threads: lambda wildcards: workflow.cores if wildcards.kind == "throughput" else 1
    resources:
        **get_resources("measure"),
        gpu=lambda wildcards: GPU if wildcards.kind == "throughput" else 0,
    params:
        flags=get_measure_flags,
        code=get_measure_fingerprint,
    shell:
        "ngo {wildcards.kind} {params.flags:q} --out {output} > {log} 2>&1"


rule probe:
    """Measure on the models that training kept: gradients' alignment, samples."""
    input:
        models=get_kept_models,
        code=get_measure_code,
    output:
        "results/metrics/{kind}_{artefact}.parquet",
    log:
        "logs/measures/{kind}_{artefact}.log",
    wildcard_constraints:
        kind="alignment|samples",
    resources:
        **get_resources("measure"),
    params:
        flags=get_measure_flags,
        code=get_measure_fingerprint,
    shell:
        "ngo {wildcards.kind} {input.models} {params.flags:q} --out {output} > {log} 2>&1"


rule classes:
    """Count the samples per class and worker of the partitions on show."""
    input:
        partitions=get_shown_partitions,
        code=get_code("ngo.results"),
    output:
        "results/metrics/classes_{artefact}.parquet",
    log:
        "logs/measures/classes_{artefact}.log",
    params:
        code=get_code_fingerprint("ngo.results"),
    shell:
        "ngo classes {input.partitions} --out {output} > {log} 2>&1"
