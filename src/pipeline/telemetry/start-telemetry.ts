/**
 * Starts the export of traces, metrics and logs (OTLP over HTTP).
 *
 * Loaded only if a setting asks for it. Everything runs on the main thread, from the records of the pipeline, the metrics and the
 * lines of the log: a collector that is away, slow or broken costs no call anything.
 */

import type { Registry } from 'prom-client'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { LogTap } from '../../foundation/runtime/log-tap.ts'
import type { TelemetryConfig } from './telemetry-settings.ts'
import { CallObserver, type TraceSink } from './call-observer.ts'
import { clientSpan, serverSpan, type CallSpan, type ServerAddress, type TracedCall } from './call-spans.ts'
import { DurationHistogram } from './duration-histogram.ts'
import { exportLogs, type Exporter } from './export-logs.ts'
import { ExportQueue } from './export-queue.ts'
import { OWN_COMPONENT } from './log-records.ts'
import { readMetrics } from './metric-data.ts'
import { createOrigin, type Origin } from './origin.ts'
import { metricSerializer, traceSerializer } from './serializers.ts'
import { Signal, type Counters } from './signal.ts'

export interface TelemetryOptions {
  readonly config: TelemetryConfig
  readonly clock: Clock
  readonly log: Log
  /** Null: logs are not exported. */
  readonly logTap: LogTap | null
  readonly registry: Pick<Registry, 'getMetricsAsJSON'>
  readonly counters: Counters
  readonly version: string
  /** Name of this node. */
  readonly node: string
  readonly gatewayUrl: string
}

export interface Telemetry {
  /** Receives the records of the pipeline. */
  readonly observer: Pick<CallObserver, 'add' | 'commit' | 'reset'>
  /** Sends what waits, within a time limit. */
  stop(): Promise<void>
}

interface Parts extends TelemetryOptions {
  readonly origin: Origin
  readonly userAgent: string
  readonly durations: DurationHistogram
}

/** Longest delay of the stop by the export. */
const STOP_WITHIN_MS = 2_000

export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { config, version, node, gatewayUrl, clock } = options
  const url = new URL(gatewayUrl)
  const origin = createOrigin({ version, node, resource: config.resource })
  const durations = new DurationHistogram(url.protocol.slice(0, -1))
  const log = options.log.child({ component: OWN_COMPONENT })
  const parts = { ...options, log, origin, durations, userAgent: `tollgate/${version}` }
  const traces = config.traces === null ? null : exportTraces(parts, config.traces, addressOf(url))
  const exporters = [
    traces,
    config.metrics === null ? null : exportMetrics(parts, config.metrics),
    config.logs === null || options.logTap === null ? null : exportLogs(parts, config.logs, options.logTap),
  ].filter((exporter): exporter is Exporter & TraceSink => exporter !== null)
  const observer = new CallObserver({
    traces,
    durations: config.metrics === null ? null : durations,
    startMs: clock.nowMs(),
    onFault: (cause) => log.error({ err: cause }, 'spans of calls could not be made from their records'),
  })
  return {
    observer,
    stop: async () => void (await Promise.all(exporters.map((exporter) => exporter.stop(STOP_WITHIN_MS)))),
  }
}

function exportTraces(
  parts: Parts,
  config: NonNullable<TelemetryConfig['traces']>,
  server: ServerAddress,
): Exporter & TraceSink {
  const { origin, clock } = parts
  const signal = new Signal({ ...parts, name: 'traces', config, serializer: traceSerializer(config.format) })
  const queue = new ExportQueue<() => CallSpan | null>({
    ...callbacksOf(signal),
    batches: config.batches,
    clock,
    send: (items, withinMs, aborted) =>
      signal.send(
        items.map((toSpan) => toSpan()).filter((span) => span !== null),
        withinMs,
        aborted,
      ),
  })
  return {
    pendingMax: config.batches.queueMax,
    add(call: TracedCall) {
      queue.add(() => serverSpan(call, server, origin))
      if (call.trace.forwardedUs >= 0) queue.add(() => clientSpan(call, origin))
    },
    drop: signal.onDropped,
    async stop(withinMs) {
      await queue.stop(withinMs)
      await signal.close()
    },
  }
}

function exportMetrics(parts: Parts, config: NonNullable<TelemetryConfig['metrics']>): Exporter {
  const { origin, clock, registry, durations } = parts
  const signal = new Signal({ ...parts, name: 'metrics', config, serializer: metricSerializer(config.format) })
  const sinceMs = clock.nowMs()
  const abort = new AbortController()
  let running: Promise<void> | null = null

  async function send(withinMs: number): Promise<void> {
    const data = await readMetrics({ registry, durations, sinceMs, nowMs: clock.nowMs() }, origin)
    const metrics = data.scopeMetrics.flatMap((scope) => scope.metrics)
    const points = metrics.reduce((sum, { dataPoints }) => sum + dataPoints.length, 0)
    const result = await signal.send(data, withinMs, abort.signal)
    signal.onAttempt(result.outcome === 'accepted' ? null : result.reason)
    const rejected = result.outcome === 'accepted' ? Math.min(points, result.rejected) : points
    signal.onExported(points - rejected)
    if (rejected > 0) signal.onDropped(rejected, result.outcome === 'accepted' ? 'rejected' : 'failed')
  }

  /** Values are cumulative, so that the next request says what this one could not. */
  function run(withinMs: number): void {
    running ??= send(withinMs)
      .catch((cause: unknown) => signal.onAttempt(String(cause)))
      .finally(() => (running = null))
  }

  const stopTimer = clock.every(config.everyMs, () => run(config.everyMs))
  return {
    async stop(withinMs) {
      stopTimer()
      const cancel = clock.after(withinMs, () => abort.abort())
      await running
      run(withinMs)
      await running
      cancel()
      await signal.close()
    },
  }
}

function callbacksOf<Input>({ onExported, onDropped, onAttempt }: Signal<Input>) {
  return { onExported, onDropped, onAttempt }
}

function addressOf(url: URL): ServerAddress {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  return { address: url.hostname.replace(/^\[|\]$/g, ''), port }
}
