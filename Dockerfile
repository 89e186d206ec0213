FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack -ldflags "-s -w -funcalign=16 -X coffer/server/cli.version=${VERSION}" -o /coffer . \
 && mkdir /data && chown 65532:65532 /data && chmod 700 /data

FROM scratch
COPY --from=build /coffer /coffer
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532
ENV COFFER_DATA=/data COFFER_LISTEN=0.0.0.0:2633
VOLUME /data
EXPOSE 2633
ENTRYPOINT ["/coffer"]
CMD ["serve"]
