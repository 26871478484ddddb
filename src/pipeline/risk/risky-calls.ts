/** Finds the calls of a batch that raise a risk. Only the outcome and the flags decide, so a served call costs almost nothing. */

import { OUTCOME_TABLE, RISK_FLAGS, type OutcomeRisk } from '../../foundation/domain/outcome.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { RiskReason } from './risk-reason.ts'

type OnRisk = (batch: RecordBatch, index: number, risk: OutcomeRisk, reason: RiskReason) => void

const FLAGS = Object.entries(RISK_FLAGS).map(([reason, flag]) => ({
  reason: reason as keyof typeof RISK_FLAGS,
  ...flag,
}))
const RISKY_FLAGS = FLAGS.reduce((bits, { bit }) => bits | bit, 0)

/** Calls `onRisk` for each risk of each call; a call can raise several. */
export function forEachRisk(batch: RecordBatch, onRisk: OnRisk): void {
  const { count } = batch
  for (let index = 0; index < count; index++) {
    const outcome = batch.outcome(index)
    const flags = batch.flags(index) & RISKY_FLAGS
    if (outcome === 0 && flags === 0) continue
    if (flags !== 0) {
      for (const { bit, risk, reason } of FLAGS) if ((flags & bit) !== 0) onRisk(batch, index, risk, reason)
    }
    const row = OUTCOME_TABLE[outcome]
    if (row === undefined || row.risk === 'none') continue
    if (row.risk.attributedTo === 'verified' && !hasVerifiedConsumer(batch, index)) continue
    onRisk(batch, index, row.risk, row.name)
  }
}

function hasVerifiedConsumer(batch: RecordBatch, index: number): boolean {
  return batch.attributions[batch.attributionId(index)]!.consumer !== ''
}
