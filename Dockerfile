# The image holds one static program, the certificates of public authorities, and
# an empty volume. It runs as nobody in particular and writes to /data only, so the
# rest may be read-only. .ci/image builds the same without a container engine, and a
# test holds the two against each other.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags nomsgpack -ldflags "-s -w -funcalign=16 -X coffer/server/cli.version=${VERSION}" -o /coffer . \
 && mkdir /data && chown 65532:65532 /data && chmod 700 /data

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="coffer" \
      org.opencontainers.image.description="A self-hosted vault for the secrets of a team's repositories" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /coffer /coffer
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532
ENV COFFER_DATA=/data COFFER_LISTEN=0.0.0.0:2633
VOLUME /data
EXPOSE 2633
# A sealed server counts as healthy: it waits for somebody to unseal it, and an
# orchestrator that restarted it would only be in their way.
HEALTHCHECK --interval=30s --timeout=6s --start-period=10s --retries=3 CMD ["/coffer", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/coffer"]
CMD ["serve"]
