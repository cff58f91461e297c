# llmdo in an image: `make dist && docker build --tag llmdo .` (docs/releasing.md)
FROM python:3.13.14-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home llmdo \
    && git config --system safe.directory /work

COPY dist/*.whl /tmp/dist/
RUN python -m pip install --no-cache-dir --disable-pip-version-check --root-user-action ignore /tmp/dist/*.whl \
    && rm -r /tmp/dist

# Else the home of `--user NUMBER` may be /work: git and llmdo would take files of the workspace for that person's own.
ENV HOME=/home/llmdo
USER 10001
WORKDIR /work
ENTRYPOINT ["llmdo"]
CMD ["--help"]
