/**
 * Executes the steps of programmes, one at a time per programme, and resumes them after a restart.
 *
 * The result of a step is committed with the step. Commands that commit by themselves (proxies,
 * subscriptions) are checked for an earlier result before they are repeated. The change feed wakes a
 * programme when it is created, retried, amended or decided.
 */

import { Problem, type ProblemPointer } from '../domain/problem.ts'
import { STEPS } from './programme-machine.ts'
import type { Clock } from '../runtime/clock.ts'
import { isOfKind, type Change, type Document, type Registry } from '../store/registry.ts'
import { isFromDisk, UNWRITABLE_RETRY_MS } from '../store/unwritable.ts'
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
} from './programme-document.ts'
import type { ProgrammeStepWork, StepResult } from './programme-steps.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ProgrammeRunner {
  /** Takes up what runs, and goes on by itself. */
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

const PAGE = 500

export function createProgrammeRunner({ registry, steps, clock, mutex, log }: ProgrammeRunnerOptions): ProgrammeRunner {
  const running = new Set<Promise<void>>()
  /** How to cancel what is tried again. */
  const retries = new Set<() => void>()
  let stopWatching = (): void => {}
  let isStopped = false

  function hear({ document, removed }: Change): void {
    if (removed) return
    if (isOfKind(document, PROGRAMME_KIND) && stateOf(document.body) === 'running') wake(document.id)
    if (!isOfKind(document, APPROVAL_KIND)) return
    const { programme } = document.body
    if (programme !== undefined) wake(programme)
  }

  function wake(id: string): void {
    const work = mutex
      .runExclusive([id], () => run(id))
      .catch((cause: unknown) => {
        const isRetried = isFromDisk(cause)
        const next = isRetried ? 'retrying' : 'retrying at the next start'
        log.error({ err: cause, programme: id }, `programme step failed; ${next}`)
        if (isRetried) wakeLater(id)
      })
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  function wakeLater(id: string): void {
    const cancel = clock.after(UNWRITABLE_RETRY_MS, () => {
      retries.delete(cancel)
      wake(id)
    })
    retries.add(cancel)
  }

  async function run(id: string): Promise<void> {
    for (let isMore = true; isMore && !isStopped;) {
      const programme = await registry.get(PROGRAMME_KIND, id)
      if (programme === null) return
      isMore = stateOf(programme.body) === 'waiting' ? await decided(programme) : await goOn(programme)
    }
  }

  /** Whether a decision has come that lets it move. */
  async function decided(programme: Document<ProgrammeBody>): Promise<boolean> {
    const { tenant, body } = programme
    const flow = await registry.get(APPROVAL_KIND, body.approvalFlow ?? '')
    const outcome = flow?.body.approvals.at(-1)?.outcome
    if (outcome !== 'Approved' && outcome !== 'Rejected') return false
    const isApproved = outcome === 'Approved'
    const endedAt = toTime(clock.nowMs())
    const comments = flow?.body.approvals.at(-1)?.comments ?? 'The request was rejected.'
    const next: ProgrammeBody = {
      ...body,
      actor: stepProgramme(body, isApproved ? 'approved' : 'rejected'),
      steps: withStep(body, stepOf(body), {
        status: isApproved ? 'done' : 'failed',
        endedAt,
        errors: isApproved ? [] : [{ pointer: '', detail: comments }],
      }),
    }
    await registry.commit({ tenant, consumer: 'system' }, `programme.${isApproved ? 'approved' : 'rejected'}`, [
      programmeWrite(programme.id, tenant, programme.revision, next),
    ])
    return isApproved
  }

  async function goOn(programme: Document<ProgrammeBody>): Promise<boolean> {
    if (stateOf(programme.body) !== 'running') return false
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
    await note(programme, number, startedAt, result, errors)
    return result !== null && result.isPaused !== true
  }

  async function note(
    { id, tenant, revision, body }: Document<ProgrammeBody>,
    number: number,
    startedAt: string,
    result: StepResult | null,
    errors: readonly ProblemPointer[],
  ): Promise<void> {
    const type = result === null ? 'step.failed' : result.isPaused === true ? 'step.paused' : 'step.done'
    const status = { 'step.failed': 'failed', 'step.paused': 'waiting', 'step.done': 'done' } as const
    const endedAt = type === 'step.paused' ? null : toTime(clock.nowMs())
    const next: ProgrammeBody = {
      ...body,
      ...result?.changes,
      actor: stepProgramme(body, type),
      steps: withStep(body, number, { status: status[type], startedAt, endedAt, errors }),
    }
    await registry.commit({ tenant, consumer: 'system' }, `programme.${type}`, [
      programmeWrite(id, tenant, revision, next),
      ...(result?.writes ?? []),
    ])
  }

  return {
    async start() {
      const end = await registry.end()
      stopWatching = registry.watch(end, hear)
      for (const state of ['running', 'waiting']) {
        for (let after: string | undefined; ;) {
          const query = { where: { state }, limit: PAGE, ...(after !== undefined && { after }) }
          const page = await registry.list(PROGRAMME_KIND, query)
          for (const { id } of page) wake(id)
          if (page.length < PAGE) break
          after = page.at(-1)?.id
        }
      }
    },
    async stop() {
      isStopped = true
      stopWatching()
      await Promise.all(running)
      for (const cancel of retries) cancel()
    },
  }
}

function errorsOf(cause: unknown): readonly ProblemPointer[] {
  if (!(cause instanceof Problem))
    return [{ pointer: '', detail: 'The step failed because of an internal error. Retry the programme.' }]
  return cause.errors.length > 0 ? cause.errors : [{ pointer: '', detail: cause.message }]
}
