/**
 * Runs the steps of programmes, one at a time per programme, and resumes them after a restart.
 *
 * The result of a step is committed together with its status. Steps that run commands with commits of their
 * own (proxies, subscriptions) first check for an earlier result. The runner resumes a programme when the
 * change feed reports that it was created, updated, retried or decided, and after a failure to read or commit it.
 */

import { Problem, type ProblemPointer } from '../../foundation/domain/problem.ts'
import { STEPS } from './programme-machine.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { isOfKind, type Change, type Document, type Registry } from '../../storage/store/registry.ts'
import { APPROVAL_KIND } from '../approvals/approval-document.ts'
import { toTime } from '../command/commands.ts'
import {
  PROGRAMME_KIND,
  programmeWrite,
  stateOf,
  stepOf,
  stepProgramme,
  withStep,
  type ProgrammeBody,
  type ProgrammeStep,
} from './programme-document.ts'
import type { ProgrammeStepWork, StepResult } from './step-result.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { listAll } from '../command/page.ts'
import { createRetries } from '../command/retries.ts'

export interface ProgrammeRunner {
  /** Resumes all programmes and follows the change feed from now on. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface ProgrammeRunnerOptions {
  readonly registry: Registry
  readonly steps: readonly ProgrammeStepWork[]
  readonly clock: Clock
  readonly mutex: KeyedMutex
  readonly log: { error(fields: object, message: string): void }
}

export function createProgrammeRunner(options: ProgrammeRunnerOptions): ProgrammeRunner {
  const { registry, mutex, log } = options
  const running = new Set<Promise<void>>()
  const retries = createRetries(options)
  let unwatch = (): void => {}
  let isStopped = false

  function onChange({ document, removed }: Change): void {
    if (removed) return
    if (isOfKind(document, PROGRAMME_KIND) && stateOf(document.body) === 'running') run(document.id)
    if (!isOfKind(document, APPROVAL_KIND)) return
    const { programme } = document.body
    if (programme !== undefined) run(programme)
  }

  function run(id: string): void {
    const work = mutex
      .runExclusive([id], () => runSteps(options, id, () => isStopped))
      .then(
        () => retries.done(id),
        (cause: unknown) => {
          log.error({ err: cause, programme: id }, 'programme could not be continued; retrying')
          retries.schedule(id, cause, () => run(id))
        },
      )
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), onChange)
      for (const state of ['running', 'waiting']) {
        for await (const { id } of listAll(registry, PROGRAMME_KIND, { where: { state } })) run(id)
      }
    },
    async stop() {
      isStopped = true
      unwatch()
      retries.stop()
      await Promise.all(running)
    },
  }
}

/** Runs steps until the programme ends, fails, or waits for a decision. */
async function runSteps(options: ProgrammeRunnerOptions, id: string, isStopped: () => boolean): Promise<void> {
  for (let isMore = true; isMore && !isStopped();) {
    const programme = await options.registry.get(PROGRAMME_KIND, id)
    if (programme === null) return
    const isWaiting = stateOf(programme.body) === 'waiting'
    isMore = isWaiting ? await applyDecision(options, programme) : await runStep(options, programme)
  }
}

/** Commits the decision on the approval flow, if there is one. Returns whether the programme continues. */
async function applyDecision(
  { registry, clock }: ProgrammeRunnerOptions,
  { id, tenant, revision, body }: Document<ProgrammeBody>,
): Promise<boolean> {
  const flow = await registry.get(APPROVAL_KIND, body.approvalFlow ?? '')
  const decision = flow?.body.approvals.at(-1)
  if (decision?.outcome !== 'Approved' && decision?.outcome !== 'Rejected') return false
  const isApproved = decision.outcome === 'Approved'
  const event = isApproved ? 'approved' : 'rejected'
  const detail = decision.comments ?? 'The request was rejected.'
  const next: ProgrammeBody = {
    ...body,
    actor: stepProgramme(body, event),
    steps: withStep(body, stepOf(body), {
      status: isApproved ? 'done' : 'failed',
      endedAt: toTime(clock.nowMs()),
      errors: isApproved ? [] : [{ pointer: '', detail }],
    }),
  }
  await registry.commit({ tenant, consumer: 'system' }, `programme.${event}`, [
    programmeWrite(id, tenant, revision, next),
  ])
  return isApproved
}

/** Runs the current step and commits its result. Returns whether the programme continues. */
async function runStep(options: ProgrammeRunnerOptions, programme: Document<ProgrammeBody>): Promise<boolean> {
  if (stateOf(programme.body) !== 'running') return false
  const { steps, clock, log } = options
  const number = stepOf(programme.body)
  const startedAt = toTime(clock.nowMs())
  let result: StepResult | null = null
  let errors: readonly ProblemPointer[] = []
  try {
    result = await steps[number - 1]!(programme)
  } catch (cause) {
    errors = errorsOf(cause)
    if (!(cause instanceof Problem))
      log.error(
        { err: cause, programme: programme.id, step: STEPS[number - 1] },
        'programme step failed; the programme stops there until it is retried',
      )
  }
  await commitStep(options, programme, result, { startedAt, errors })
  return result !== null && result.isPaused !== true
}

const STATUSES = { 'step.failed': 'failed', 'step.paused': 'waiting', 'step.done': 'done' } as const

/** Commits the result of the current step; null: the step failed with `errors`. */
async function commitStep(
  { registry, clock }: ProgrammeRunnerOptions,
  { id, tenant, revision, body }: Document<ProgrammeBody>,
  result: StepResult | null,
  outcome: Pick<ProgrammeStep, 'startedAt' | 'errors'>,
): Promise<void> {
  const type = result === null ? 'step.failed' : result.isPaused === true ? 'step.paused' : 'step.done'
  const endedAt = type === 'step.paused' ? null : toTime(clock.nowMs())
  const next: ProgrammeBody = {
    ...body,
    ...result?.changes,
    actor: stepProgramme(body, type),
    steps: withStep(body, stepOf(body), { status: STATUSES[type], endedAt, ...outcome }),
  }
  await registry.commit({ tenant, consumer: 'system' }, `programme.${type}`, [
    programmeWrite(id, tenant, revision, next),
    ...(result?.writes ?? []),
  ])
}

function errorsOf(cause: unknown): readonly ProblemPointer[] {
  if (!(cause instanceof Problem))
    return [{ pointer: '', detail: 'The step failed because of an internal error. Retry the programme.' }]
  return cause.errors.length > 0 ? cause.errors : [{ pointer: '', detail: cause.message }]
}
