/**
 * The variables of OpenTelemetry, as its specification names and defines them. They have no flags.
 *
 * Nothing is exported unless an endpoint is set. As the specification asks, an unusable number or name is reported, and its default
 * applies. The start is refused if data could go elsewhere or unprotected: by an address, a protocol that is not spoken here, or a
 * certificate that cannot be read. Values of headers are secrets: no message quotes one.
 */

import { readFileSync } from 'node:fs'
import { HOUR_MS } from '../../foundation/domain/calendar.ts'
import type { TraceSampler } from '../../foundation/domain/trace-sampler.ts'
import { readKeyValues } from '../../foundation/settings/key-value-list.ts'
import { readSampler } from '../../foundation/settings/sampler-setting.ts'

export type SignalName = 'traces' | 'metrics' | 'logs'

/** Where and how one signal is sent. */
export interface SignalConfig {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly isCompressed: boolean
  readonly format: 'protobuf' | 'json'
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer }
}

/** Bounds of what waits for its export. */
export interface BatchConfig {
  readonly delayMs: number
  readonly queueMax: number
  readonly batchMax: number
  /** Longest time for one batch, with its retries. */
  readonly withinMs: number
}

export interface TelemetryConfig {
  readonly traces: (SignalConfig & { readonly sampler: TraceSampler; readonly batches: BatchConfig }) | null
  readonly metrics: (SignalConfig & { readonly everyMs: number }) | null
  readonly logs: (SignalConfig & { readonly batches: BatchConfig }) | null
  /** `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME`. */
  readonly resource: Readonly<Record<string, string>>
}

export interface TelemetrySettings {
  /** Null: nothing is exported. */
  readonly telemetry: TelemetryConfig | null
  /** One line for each variable that is ignored. */
  readonly telemetryWarnings: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

const SIGNALS = ['TRACES', 'METRICS', 'LOGS'] as const
type Signal = (typeof SIGNALS)[number]

const PER_SIGNAL = [
  'ENDPOINT',
  'HEADERS',
  'TIMEOUT',
  'COMPRESSION',
  'PROTOCOL',
  'CERTIFICATE',
  'CLIENT_CERTIFICATE',
  'CLIENT_KEY',
] as const

/** Every variable that is read here. */
export const TELEMETRY_VARIABLES: readonly string[] = [
  'OTEL_SDK_DISABLED',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  ...SIGNALS.map((signal) => `OTEL_${signal}_EXPORTER`),
  ...PER_SIGNAL.flatMap((name) =>
    ['', ...SIGNALS.map((signal) => `${signal}_`)].map((of) => `OTEL_EXPORTER_OTLP_${of}${name}`),
  ),
  ...['SCHEDULE_DELAY', 'EXPORT_TIMEOUT', 'MAX_QUEUE_SIZE', 'MAX_EXPORT_BATCH_SIZE'].flatMap((name) => [
    `OTEL_BSP_${name}`,
    `OTEL_BLRP_${name}`,
  ]),
  'OTEL_METRIC_EXPORT_INTERVAL',
]

const QUEUE_MAX = 100_000
const ATTRIBUTES_MAX = 64
/** The export sets these, or they belong to the connection; the HTTP client refuses requests with some of them. */
const OWN_HEADERS = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Adds the reasons to refuse the start to `wrong`. A variable that is empty counts as unset. */
export function readTelemetry(environment: Environment, wrong: string[]): TelemetrySettings {
  const warnings: string[] = []
  const reader = new Reader(environment, warnings, wrong)
  if (reader.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return { telemetry: null, telemetryWarnings: [] }
  const [traces, metrics, logs] = SIGNALS.map((signal) => reader.signal(signal))
  if (!traces && !metrics && !logs) return { telemetry: null, telemetryWarnings: warnings }
  const telemetry = {
    traces: traces ? { ...traces, sampler: readSampler(reader), batches: reader.batches('OTEL_BSP', 5_000) } : null,
    metrics: metrics
      ? { ...metrics, everyMs: reader.whole('OTEL_METRIC_EXPORT_INTERVAL', 60_000, 100, HOUR_MS) }
      : null,
    logs: logs ? { ...logs, batches: reader.batches('OTEL_BLRP', 1_000) } : null,
    resource: reader.resource(),
  }
  return { telemetry, telemetryWarnings: warnings }
}

class Reader {
  readonly #environment: Environment
  readonly #warnings: string[]
  readonly #wrong: string[]

  constructor(environment: Environment, warnings: string[], wrong: string[]) {
    this.#environment = environment
    this.#warnings = warnings
    this.#wrong = wrong
  }

  text(name: string): string | null {
    return this.#environment[name]?.trim() || null
  }

  ignore(name: string, takes: string, effect = ''): void {
    addOnce(this.#warnings, `${name} takes ${takes}; its value is ignored${effect && `: ${effect}`}`)
  }

  whole(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name)
    if (text === null) return fallback
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    this.ignore(name, `a whole number from ${min} to ${max}`)
    return fallback
  }

  /** Null: the signal is not exported. */
  signal(signal: Signal): SignalConfig | null {
    if (!this.#isWanted(signal)) return null
    const own = this.text(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`)
    const base = this.text('OTEL_EXPORTER_OTLP_ENDPOINT')
    if (own === null && base === null) return null
    const url =
      own === null
        ? this.#address('OTEL_EXPORTER_OTLP_ENDPOINT', base!, `/v1/${signal.toLowerCase()}`)
        : this.#address(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, own)
    const format = this.#format(signal)
    if (url === null || format === null) return null
    return {
      url,
      format,
      headers: this.#headers(signal),
      timeoutMs: this.whole(this.#nameOf(signal, 'TIMEOUT'), 10_000, 1, HOUR_MS),
      isCompressed: this.#isCompressed(signal),
      tls: {
        ...this.#file(signal, 'CERTIFICATE', 'ca'),
        ...this.#file(signal, 'CLIENT_CERTIFICATE', 'cert'),
        ...this.#file(signal, 'CLIENT_KEY', 'key'),
      },
    }
  }

  batches(prefix: string, delayMs: number): BatchConfig {
    const queueMax = this.whole(`${prefix}_MAX_QUEUE_SIZE`, 2_048, 1, QUEUE_MAX)
    return {
      delayMs: this.whole(`${prefix}_SCHEDULE_DELAY`, delayMs, 1, HOUR_MS),
      queueMax,
      batchMax: Math.min(queueMax, this.whole(`${prefix}_MAX_EXPORT_BATCH_SIZE`, 512, 1, QUEUE_MAX)),
      withinMs: this.whole(`${prefix}_EXPORT_TIMEOUT`, 30_000, 1, HOUR_MS),
    }
  }

  /** All attributes are ignored if one is malformed, as the specification asks. */
  resource(): Readonly<Record<string, string>> {
    const name = 'OTEL_RESOURCE_ATTRIBUTES'
    const entries = readKeyValues(this.text(name) ?? '')
    const isUsable = entries.length <= ATTRIBUTES_MAX && entries.every((entry) => entry !== null)
    if (!isUsable) this.ignore(name, `up to ${ATTRIBUTES_MAX} pairs key=value, separated by commas`)
    const service = this.text('OTEL_SERVICE_NAME')
    return { ...(isUsable && Object.fromEntries(entries)), ...(service !== null && { 'service.name': service }) }
  }

  #isWanted(signal: Signal): boolean {
    const name = `OTEL_${signal}_EXPORTER`
    const exporters = (this.text(name) ?? 'otlp').split(',').map((each) => each.trim())
    if (exporters.includes('otlp')) return true
    if (exporters.includes('none')) return false
    this.ignore(name, 'otlp or none')
    return true
  }

  /** Returns the variable that holds for a signal: its own, or the one for all. */
  #nameOf(signal: Signal, name: (typeof PER_SIGNAL)[number]): string {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${name}`
    return this.text(own) === null ? `OTEL_EXPORTER_OTLP_${name}` : own
  }

  /** `suffix` is added to the path; a query stays behind it. */
  #address(name: string, text: string, suffix = ''): string | null {
    const url = URL.canParse(text) ? new URL(text) : null
    if (
      url !== null &&
      /^https?:$/.test(url.protocol) &&
      url.username === '' &&
      url.password === '' &&
      url.hash === ''
    ) {
      if (suffix !== '') url.pathname = url.pathname.replace(/\/+$/, '') + suffix
      return url.href
    }
    this.#refuse(
      `${name} takes an http or https address without a password; use OTEL_EXPORTER_OTLP_HEADERS for credentials`,
    )
    return null
  }

  #format(signal: Signal): SignalConfig['format'] | null {
    const name = this.#nameOf(signal, 'PROTOCOL')
    const protocol = this.text(name) ?? 'http/protobuf'
    if (protocol === 'http/protobuf') return 'protobuf'
    if (protocol === 'http/json') return 'json'
    if (protocol === 'grpc') {
      this.#refuse(
        `${name} takes http/protobuf or http/json; grpc is not supported (collectors take both at port 4318)`,
      )
      return null
    }
    this.ignore(name, 'http/protobuf or http/json')
    return 'protobuf'
  }

  #headers(signal: Signal): Readonly<Record<string, string>> {
    const name = this.#nameOf(signal, 'HEADERS')
    const headers: Record<string, string> = {}
    for (const entry of readKeyValues(this.text(name) ?? '')) {
      const [key = '', value = ''] = entry ?? []
      const isUsable = /^[\w!#$%&'*+.^`|~-]+$/.test(key) && /^[\t\x20-\x7e]*$/.test(value)
      if (isUsable && !OWN_HEADERS.has(key.toLowerCase())) headers[key.toLowerCase()] = value
      else
        this.ignore(
          name,
          'pairs name=value, separated by commas, with names of headers that the export does not set itself',
        )
    }
    return headers
  }

  #isCompressed(signal: Signal): boolean {
    const name = this.#nameOf(signal, 'COMPRESSION')
    const compression = this.text(name) ?? 'none'
    if (compression !== 'gzip' && compression !== 'none') this.ignore(name, 'gzip or none')
    return compression === 'gzip'
  }

  #file<K extends string>(signal: Signal, of: (typeof PER_SIGNAL)[number], key: K): { readonly [_ in K]?: Buffer } {
    const name = this.#nameOf(signal, of)
    const path = this.text(name)
    if (path === null) return {}
    try {
      return { [key]: readFileSync(path) } as { readonly [_ in K]?: Buffer }
    } catch (cause) {
      this.#refuse(`${name} names a file that cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'error'})`)
      return {}
    }
  }

  #refuse(reason: string): void {
    addOnce(this.#wrong, reason)
  }
}

/** A variable for several signals is read several times. */
function addOnce(lines: string[], line: string): void {
  if (!lines.includes(line)) lines.push(line)
}
