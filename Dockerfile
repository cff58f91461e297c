# llmdo in an image: `make dist && docker build --tag llmdo .` (docs/releasing.md)
FROM python:3.13.14-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home llmdo \
    && git config --system safe.directory /work

COPY dist/*.whl /tmp/dist/
RUN python -m pip install --no-cache-dir --disable-pip-version-check /tmp/dist/*.whl && rm -r /tmp/dist

USER 10001
WORKDIR /work
ENTRYPOINT ["llmdo"]
CMD ["--help"]
