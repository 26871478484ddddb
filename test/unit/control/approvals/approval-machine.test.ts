import { describe, expect, it } from 'vitest'
import {
  approvalFlow,
  type ApprovalEvent,
  type ApprovalState,
} from '../../../../src/control/approvals/approval-machine.ts'
import { begin, step, type PersistedActor } from '../../../../src/control/command/persisted-machine.ts'

type Verb = ApprovalEvent['type']
const approver = 'usr_approver'
const EVENTS: Readonly<Record<Verb, ApprovalEvent>> = {
  opened: { type: 'opened' },
  approved: { type: 'approved', approver },
  rejected: { type: 'rejected', approver },
  'amendment.required': { type: 'amendment.required', approver },
  resubmitted: { type: 'resubmitted' },
  withdrawn: { type: 'withdrawn' },
  completed: { type: 'completed' },
}

/** The events that lead to each state, and its transitions; it refuses all other events. */
const STATES: Readonly<
  Record<ApprovalState, { by: readonly Verb[]; to: Readonly<Partial<Record<Verb, ApprovalState>>> }>
> = {
  Submitted: { by: [], to: { opened: 'InProgress' } },
  InProgress: {
    by: ['opened'],
    to: {
      approved: 'Approved',
      rejected: 'Rejected',
      'amendment.required': 'AmendmentRequired',
      withdrawn: 'Complete',
    },
  },
  AmendmentRequired: {
    by: ['opened', 'amendment.required'],
    to: { resubmitted: 'InProgress', withdrawn: 'Complete' },
  },
  Approved: { by: ['opened', 'approved'], to: { completed: 'Complete', withdrawn: 'Complete' } },
  Rejected: { by: ['opened', 'rejected'], to: { completed: 'Complete' } },
  Complete: { by: ['opened', 'withdrawn'], to: {} },
}

function reach(verbs: readonly Verb[]): PersistedActor {
  return verbs.reduce<PersistedActor>(
    (from, verb) => {
      const result = step(approvalFlow, JSON.parse(JSON.stringify(from)), EVENTS[verb])
      if ('refused' in result) throw new Error(`${verb} was refused in ${result.refused.state}`)
      return result.next
    },
    begin(approvalFlow, { requester: 'usr_requester' }),
  )
}

describe.each(Object.entries(STATES))('a flow that is %s', (state, { by, to }) => {
  it('is reached by its events, with every snapshot stored as JSON', () => expect(reach(by).value).toBe(state))

  it.each(Object.keys(EVENTS) as Verb[])('handles the event %s as the diagram shows', (verb) => {
    const result = step(approvalFlow, reach(by), EVENTS[verb])
    const next = to[verb]
    if (next !== undefined) return expect(result).toMatchObject({ next: { value: next } })
    expect(result).toMatchObject({ refused: { state, allowed: Object.keys(to).sort() } })
  })
})

it.each(['approved', 'rejected', 'amendment.required'] as const)('a flow cannot be %s by its requester', (type) => {
  expect(step(approvalFlow, reach(['opened']), { type, approver: 'usr_requester' })).toHaveProperty('refused')
})
