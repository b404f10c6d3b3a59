# Measurements other than training, some of them on models that training kept.


rule measure:
    """Measure consensus, spectra, the theorems, or the models that training kept."""
    input:
        models=get_kept_models,
        data=get_measured_data,
    output:
        "results/<tier>/metrics/{kind}_{artefact}.parquet",
    log:
        "logs/<tier>/measures/{kind}_{artefact}.log",
    wildcard_constraints:
        kind=get_measurements(exclusive=False),
    conda:
        ENVIRONMENT
    resources:
        **get_resources("measure"),
    params:
        flags=get_measure_flags,
        key=get_table_key("{kind}_{artefact}"),
        plugins=get_plugins,
    shell:
        "ngo {wildcards.kind:q} {params.plugins:q} {input.models:q} {params.flags:q} --out {output:q} > {log:q} 2>&1"


use rule measure as measure_alone with:
    wildcard_constraints:
        kind=get_measurements(exclusive=True),
    # Alone on the machine.
    threads: lambda wildcards: workflow.cores
    resources:
        **get_resources("measure"),
        gpu=GPU,


rule classes:
    """Count the samples per class and worker of the partitions on show."""
    input:
        partitions=get_shown_partitions,
    output:
        "results/<tier>/metrics/classes_{artefact}.parquet",
    log:
        "logs/<tier>/measures/classes_{artefact}.log",
    conda:
        ENVIRONMENT
    params:
        key=get_table_key("classes_{artefact}"),
        plugins=get_plugins,
    shell:
        "ngo classes {params.plugins:q} {input.partitions:q} --out {output:q} > {log:q} 2>&1"
