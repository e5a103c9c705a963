# One image, two commands: `python -m controller` and `python -m webhook`.
# not slim: it has the C compiler for the core
FROM python:3.13 AS build
# compiled files then name the contents of their sources, not the time of the build
ARG SOURCE_DATE_EPOCH
WORKDIR /src
COPY requirements/runtime.txt requirements/build.txt requirements/page.txt requirements/
RUN python -m venv /opt/penstock && /opt/penstock/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
# what the core imports too: the types of numpy are compiled in
RUN pip install --no-cache-dir --require-hashes -r requirements/build.txt -r requirements/runtime.txt -r requirements/page.txt
COPY page/package.json page/package-lock.json page/.npmrc page/
RUN npm --prefix page ci
COPY pyproject.toml README.md LICENSE ./
COPY config config
COPY controller controller
COPY webhook webhook
COPY page page
RUN npm --prefix page run types && npm --prefix page run build
RUN HATCH_BUILD_HOOK_ENABLE_MYPYC=true pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist . && \
    /opt/penstock/bin/pip install --no-cache-dir --no-deps /dist/*.whl

FROM python:3.13-slim
COPY --from=build /opt/penstock /opt/penstock
ENV PATH=/opt/penstock/bin:$PATH PYTHONUNBUFFERED=1
# numeric, so that Kubernetes can check runAsNonRoot
USER 65532:65532
CMD ["python", "-m", "controller"]
