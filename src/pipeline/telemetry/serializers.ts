/** The official serializers of OTLP, by signal and format. */

import {
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer'
import type { SignalConfig } from './telemetry-settings.ts'

export interface Serializer<Input> {
  toBytes(input: Input): Uint8Array
  /** Returns how many items the answer of a collector rejects. Throws if it is not an answer of OTLP. */
  readRejected(answer: Uint8Array): number
}

interface Official<Input, Answer> {
  serializeRequest(request: Input): Uint8Array | undefined
  deserializeResponse(bytes: Uint8Array): Answer
}

type Format = SignalConfig['format']
type TraceInput = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0]
type MetricInput = Parameters<typeof ProtobufMetricsSerializer.serializeRequest>[0]
type LogInput = Parameters<typeof ProtobufLogsSerializer.serializeRequest>[0]

export function traceSerializer(format: Format): Serializer<TraceInput> {
  const official = format === 'json' ? JsonTraceSerializer : ProtobufTraceSerializer
  return wrap(official, (answer) => answer.partialSuccess?.rejectedSpans)
}

export function metricSerializer(format: Format): Serializer<MetricInput> {
  const official = format === 'json' ? JsonMetricsSerializer : ProtobufMetricsSerializer
  return wrap(official, (answer) => answer.partialSuccess?.rejectedDataPoints)
}

export function logSerializer(format: Format): Serializer<LogInput> {
  const official = format === 'json' ? JsonLogsSerializer : ProtobufLogsSerializer
  return wrap(official, (answer) => answer.partialSuccess?.rejectedLogRecords)
}

function wrap<Input, Answer>(
  official: Official<Input, Answer>,
  rejectedOf: (answer: Answer) => number | undefined,
): Serializer<Input> {
  return {
    toBytes(input) {
      const bytes = official.serializeRequest(input)
      if (bytes === undefined) throw new Error('the telemetry cannot be written as OTLP')
      return bytes
    },
    readRejected(answer) {
      if (answer.length === 0) return 0
      const rejected = Number(rejectedOf(official.deserializeResponse(answer)) ?? 0)
      return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0
    },
  }
}
