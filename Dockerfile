# One image, two commands: `python -m controller` and `python -m webhook`.
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/runtime.txt
RUN python -m venv /opt/penstock && /opt/penstock/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY config config
COPY controller controller
COPY webhook webhook
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist . && /opt/penstock/bin/pip install --no-cache-dir --no-deps /dist/*.whl

FROM python:3.13-slim
COPY --from=build /opt/penstock /opt/penstock
ENV PATH=/opt/penstock/bin:$PATH PYTHONUNBUFFERED=1
# numeric, so that Kubernetes can check runAsNonRoot
USER 65532:65532
CMD ["python", "-m", "controller"]
