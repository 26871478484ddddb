/** Stores the explanation and the trace of a call beside its record, if the batch has room for them. */

import { toExplanationText, type Explanation } from '../domain/explanation.ts'
import { toTraceText, type CallTrace } from './call-trace.ts'
import type { BatchBuffer } from './codec.ts'
import type { SpoolWriterOptions } from './spool-writer-options.ts'

interface Notes {
  readonly explanation?: Explanation | null
  readonly trace?: CallTrace | null
}

/** Attaches the notes to the latest record of the batch. */
export function addNotes(
  batch: BatchBuffer,
  { explanation = null, trace = null }: Notes,
  { explanations, traces }: Pick<SpoolWriterOptions, 'explanations' | 'traces'>,
): void {
  if (explanation !== null && explanations !== undefined && !batch.explain(toExplanationText(explanation)))
    explanations.onDropped()
  if (trace?.isSampled === true && traces !== undefined && !batch.trace(toTraceText(trace))) traces.onDropped()
}
