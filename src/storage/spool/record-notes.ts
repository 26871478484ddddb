/** Stores the explanation and the trace of a call beside its record, if the batch has room for them. */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import { toExplanationText, type Explanation } from '../../foundation/domain/explanation.ts'
import { toTraceText, type CallTrace } from './call-trace.ts'
import type { BatchBuffer } from './codec.ts'
import type { SpoolWriterOptions } from './spool-writer-options.ts'

interface Notes {
  readonly attribution: Attribution
  readonly explanation?: Explanation | null
  readonly trace?: CallTrace | null
}

/** Above this share of its limit the spool takes no traces: what is left is for the records, without which no call is served. */
const SHARE_FOR_TRACES = 0.5

/** Attaches the notes to the latest record of the batch. */
export function addNotes(
  batch: Pick<BatchBuffer, 'explain' | 'trace'>,
  { attribution, explanation = null, trace = null }: Notes,
  { explanations, traces, gauge }: Pick<SpoolWriterOptions, 'explanations' | 'traces' | 'gauge'>,
): void {
  if (explanation !== null && explanations !== undefined && !batch.explain(toExplanationText(explanation)))
    explanations.onDropped()
  if (trace?.isSampled !== true || traces === undefined) return
  const hasRoom = gauge.share <= SHARE_FOR_TRACES
  if (!hasRoom || !batch.trace(toTraceText(trace, attribution.subscription === ''))) traces.onDropped()
}
