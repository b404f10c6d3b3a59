# What is measured without training, or on the models that training kept.


rule measure:
    """Measure what needs no training: consensus, spectra, theory."""
    input:
        data=get_measured_data,
        code=get_measure_code,
    output:
        "results/<tier>/metrics/{kind}_{artefact}.parquet",
    log:
        "logs/<tier>/measures/{kind}_{artefact}.log",
    wildcard_constraints:
        kind="consensus|spectra|theory",
    resources:
        **get_resources("measure"),
    params:
        flags=get_measure_flags,
        code=get_measure_fingerprint,
    shell:
        "ngo {wildcards.kind} {params.flags:q} --out {output} > {log} 2>&1"


use rule measure as throughput with:
    wildcard_constraints:
        kind="throughput",
    # Alone on the machine.
    threads: lambda wildcards: workflow.cores
    resources:
        **get_resources("measure"),
        gpu=GPU,


rule probe:
    """Measure on the models that training kept: gradients' alignment, samples."""
    input:
        models=get_kept_models,
        code=get_measure_code,
    output:
        "results/<tier>/metrics/{kind}_{artefact}.parquet",
    log:
        "logs/<tier>/measures/{kind}_{artefact}.log",
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
        "results/<tier>/metrics/classes_{artefact}.parquet",
    log:
        "logs/<tier>/measures/classes_{artefact}.log",
    params:
        code=get_code_fingerprint("ngo.results"),
    shell:
        "ngo classes {input.partitions} --out {output} > {log} 2>&1"
