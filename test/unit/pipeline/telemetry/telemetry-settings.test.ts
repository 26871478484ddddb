import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConfigError, readConfig } from '../../../../src/app/config.ts'
import { readTelemetry, TELEMETRY_VARIABLES } from '../../../../src/pipeline/telemetry/telemetry-settings.ts'
import { unknownVariables } from '../../../../src/app/settings/unknown-variables.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

function read(environment: Readonly<Record<string, string>>) {
  const wrong: string[] = []
  return { ...readTelemetry(environment, wrong), wrong }
}

const sampler = (name: string, argument = '') =>
  read({ ...ENDPOINT, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }).telemetry?.traces?.sampler

describe('The export of telemetry', () => {
  it('is off without an endpoint, if it is disabled, and for signals whose exporter is none', () => {
    const off = { telemetry: null, telemetryWarnings: [], wrong: [] }
    expect(read({ OTEL_SERVICE_NAME: 'a', OTEL_TRACES_SAMPLER: 'always_on' })).toEqual(off)
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: '  ' })).toEqual(off)
    expect(read({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toEqual(off)
    const exporters = { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }
    expect(read({ ...ENDPOINT, ...exporters }).telemetry).toMatchObject({ traces: null, metrics: null, logs: {} })
    expect(read({ ...ENDPOINT, ...exporters, OTEL_LOGS_EXPORTER: 'none' })).toEqual(off)
    expect(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a/b' }).telemetry).toMatchObject({
      metrics: null,
      logs: null,
    })
  })

  it('has the defaults of the specification', () => {
    const { telemetry, telemetryWarnings } = read(ENDPOINT)
    expect(telemetryWarnings).toEqual([])
    expect(telemetry).toEqual({
      traces: {
        url: 'http://collector:4318/v1/traces',
        headers: {},
        timeoutMs: 10_000,
        isCompressed: false,
        format: 'protobuf',
        tls: {},
        sampler: { isParentBased: true, ratio: 1 },
        batches: { delayMs: 5_000, queueMax: 2_048, batchMax: 512, withinMs: 30_000 },
      },
      metrics: expect.objectContaining({ url: 'http://collector:4318/v1/metrics', everyMs: 60_000 }) as object,
      logs: expect.objectContaining({
        url: 'http://collector:4318/v1/logs',
        batches: { delayMs: 1_000, queueMax: 2_048, batchMax: 512, withinMs: 30_000 },
      }) as object,
      resource: {},
    })
  })

  it('prefers the variables of a signal', () => {
    const { telemetry } = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector/base/',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces:1/own',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-all=1',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-own=a%20b, x-more=c=d',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_LOGS_COMPRESSION: 'gzip',
    })
    expect(telemetry?.traces).toMatchObject({
      url: 'http://traces:1/own',
      headers: { 'x-own': 'a b', 'x-more': 'c=d' },
      format: 'protobuf',
      isCompressed: false,
    })
    expect(telemetry?.logs).toMatchObject({
      url: 'https://collector/base/v1/logs',
      headers: { 'x-all': '1' },
      format: 'json',
      isCompressed: true,
    })
  })

  it('adds the path of a signal in front of a query', () => {
    const urlOf = (endpoint: string): string | undefined =>
      read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }).telemetry?.traces?.url
    expect(urlOf('https://c/otlp?key=K')).toBe('https://c/otlp/v1/traces?key=K')
    expect(urlOf('https://c?key=a/b/')).toBe('https://c/v1/traces?key=a/b/')
    expect(urlOf('https://c/a%2Fb//')).toBe('https://c/a%2Fb/v1/traces')
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/otlp?key=K' }
    expect(read(own).telemetry?.traces?.url).toBe('https://c/otlp?key=K')
  })

  it('lets a header name another user agent', () => {
    const { telemetry, telemetryWarnings } = read({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'User-Agent=a/1' })
    expect([telemetry?.traces?.headers, telemetryWarnings]).toEqual([{ 'user-agent': 'a/1' }, []])
  })

  it('reads samplers', () => {
    expect(sampler('always_on')).toEqual({ isParentBased: false, ratio: 1 })
    expect(sampler('always_off')).toEqual({ isParentBased: false, ratio: 0 })
    expect(sampler('traceidratio', '0.25')).toEqual({ isParentBased: false, ratio: 0.25 })
    expect(sampler('traceidratio')).toEqual({ isParentBased: false, ratio: 1 })
    expect(sampler('parentbased_always_off')).toEqual({ isParentBased: true, ratio: 0 })
    expect(sampler('parentbased_traceidratio', '.5')).toEqual({ isParentBased: true, ratio: 0.5 })
    const ratios = ['1e-3', '5E-1', '0.', '0', '1.0', '1e-400'].map((text) => sampler('traceidratio', text)?.ratio)
    expect(ratios).toEqual([0.001, 0.5, 0, 0, 1, 0])
  })

  it.each(['2', '-0.1', '1e1', '0x1', 'NaN', 'Infinity', '10%', '0,5', '.', 'e-3'])(
    'with the share %s warns, and samples every call',
    (share) => {
      const variables = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: share }
      const { telemetry, telemetryWarnings } = read({ ...ENDPOINT, ...variables })
      expect(telemetry?.traces?.sampler).toEqual({ isParentBased: false, ratio: 1 })
      expect(telemetryWarnings).toEqual([
        'OTEL_TRACES_SAMPLER_ARG takes a number from 0 to 1; its value is ignored: the share is 1',
      ])
    },
  )

  it('has a resource, in which the name of the service comes first', () => {
    const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,region=eu%2Fwest' }
    expect(read({ ...ENDPOINT, ...attributes }).telemetry?.resource).toEqual({ 'service.name': 'a', region: 'eu/west' })
    expect(read({ ...ENDPOINT, ...attributes, OTEL_SERVICE_NAME: 'b' }).telemetry?.resource).toMatchObject({
      'service.name': 'b',
    })
  })

  it.each([
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER', 'constructor'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '-1'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'brotli'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/xml'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no pair'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x=%zz'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x=a%0d%0ay: z'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'content-length=1'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'Expect=100-continue'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'upgrade=h2c'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'keep-alive=timeout%3D5'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'te=trailers'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '1e9'],
    ['OTEL_BSP_SCHEDULE_DELAY', '-5'],
    ['OTEL_BLRP_MAX_EXPORT_BATCH_SIZE', '1000000'],
    ['OTEL_METRIC_EXPORT_INTERVAL', 'often'],
    ['OTEL_METRICS_EXPORTER', 'prometheus'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=1,b'],
  ])('with %s=%s reports that once, without the value, and has the default', (name, value) => {
    const { telemetry, telemetryWarnings, wrong } = read({ ...ENDPOINT, [name]: value })
    expect(wrong).toEqual([])
    expect(telemetry).toEqual(read(ENDPOINT).telemetry)
    expect(telemetryWarnings).toEqual([expect.stringMatching(new RegExp(`^${name} takes `))])
    expect(telemetryWarnings.join()).not.toContain(value)
  })

  it('has no batch that is larger than its queue', () => {
    const { telemetry } = read({ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: '10' })
    expect(telemetry?.traces?.batches).toMatchObject({ queueMax: 10, batchMax: 10 })
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'ftp://collector'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:the-secret@collector'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'nonsense'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/nowhere/the-secret.pem'],
  ])('refuses the start with %s=%s, in one line', (name, value) => {
    const { wrong } = read({ ...ENDPOINT, [name]: value })
    expect(wrong).toEqual([expect.stringMatching(new RegExp(`^${name} `))])
    expect(wrong.join()).not.toContain('the-secret')
    expect(() => readConfig([], { ...ENDPOINT, [name]: value })).toThrow(ConfigError)
  })

  it('reads certificates', () => {
    const folder = mkdtempSync(join(tmpdir(), 'telemetry-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'ca.pem')
    writeFileSync(path, 'pem')
    const { telemetry } = read({ ...ENDPOINT, OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE: path })
    expect(telemetry?.logs?.tls).toEqual({ ca: Buffer.from('pem') })
    expect(telemetry?.traces?.tls).toEqual({})
  })
})

describe('The variables', () => {
  it('are known, and a misspelt one is found', () => {
    const found = (name: string) => unknownVariables({ [name]: 'x' }, TELEMETRY_VARIABLES)
    expect(TELEMETRY_VARIABLES.flatMap(found)).toEqual([])
    expect(found('OTEL_EXPORTER_OTLP_ENDPIONT')).toMatchObject([{ nearest: 'OTEL_EXPORTER_OTLP_ENDPOINT' }])
  })
})
