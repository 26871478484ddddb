/** Which calls are charged, by outcome, status and whether they were forwarded. */

import { expect, it } from 'vitest'
import { createAdmissions } from '../../../src/gateway/admission.ts'
import type { Call } from '../../../src/gateway/call/call.ts'
import { outcomeIndex, type Outcome } from '../../../src/foundation/domain/outcome.ts'
import { FLAG_FORWARDED } from '../../../src/storage/spool/call-record.ts'
import { openTestLimiter, planOf } from '../../fixtures/test-limits.ts'
import { createLeaseWaits } from '../../../src/limits/lease-waits.ts'

it.each<[Outcome, number, boolean, boolean]>([
  ['served', 200, true, true],
  ['served', 404, true, true],
  ['served', 500, true, false],
  ['upstream_timeout', 504, true, false],
  ['backend_busy', 503, true, false],
  ['payload_invalid', 400, false, false],
  // A call that was forwarded is charged even if the client disconnects early.
  ['client_aborted', 200, true, true],
  ['client_aborted', 499, false, false],
  ['client_aborted', 503, true, false],
  ['client_too_slow', 500, true, false],
  ['request_timeout', 502, true, false],
  ['client_too_slow', 200, true, true],
  // 408: no response had started. 200: the response had started.
  ['request_timeout', 408, false, false],
  ['request_timeout', 200, true, true],
])('a call with outcome %s, status %d, forwarded: %s, is charged: %s', (outcome, status, isForwarded, isCharged) => {
  const { limiter, sla, block } = openTestLimiter(planOf({ quotas: { period: 'Monthly', resourceUnits: 10 } }))
  const admissions = createAdmissions({ limiter, waits: createLeaseWaits(async () => false), slots: null })
  const call = { flags: isForwarded ? FLAG_FORWARDED : 0, outcome: outcomeIndex[outcome], status } as Call
  expect(admissions.admit(call, { sla, block } as Parameters<typeof admissions.admit>[1], 0, Date.now())).toBeNull()
  admissions.release(call)
  expect(call.unitsMicro).toBe(isCharged ? 1_000_000 : 0)
  // Its response shows the use without it.
  expect(call.quotaUsedMicro).toBe(call.unitsMicro)
})
