/** The stored document of a programme, and its view in the API. */

import {
  programme as machine,
  PROGRAMME_ACTIONS,
  STEPS,
  type ProgrammeEvent,
  type ProgrammeState,
} from './programme-machine.ts'
import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import { documentKind, type Author, type Document, type Write } from '../../storage/store/registry.ts'
import type { BackendInput } from '../publishing/backend-address.ts'
import type { Owner } from '../publishing/backend-secrets.ts'
import { refusedStep, toTime } from '../command/commands.ts'

export interface ProgrammeStep {
  readonly status: 'pending' | 'running' | 'waiting' | 'done' | 'failed'
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly errors: readonly ProblemPointer[]
}

export interface ProgrammeAdvice {
  readonly rule: string
  readonly advice: string
  readonly count: number
  readonly gain: number
}

export interface ProgrammeBody extends Labelled {
  readonly name: string
  /** Technical name; `''` until the document is read. */
  readonly api: string
  /** The requester, which is also the author of the changes that the steps make. */
  readonly author: Author
  /** Id of the OpenAPI document, stored byte for byte as it was sent. */
  readonly specification: string
  readonly openSla: string | null
  /** Its secrets are encrypted. */
  readonly backend: BackendInput | null
  readonly score: number | null
  readonly errors: number
  /** Number of changes that break callers of the previous major version; missing if the step has not run. */
  readonly breaking?: number
  readonly recommendations: readonly ProgrammeAdvice[]
  readonly approvalFlow: string | null
  readonly proxy: string | null
  readonly subscription: string | null
  readonly steps: readonly ProgrammeStep[]
  readonly actor: PersistedActor
}

export interface Programme {
  readonly id: string
  readonly name: string
  readonly api: string | null
  readonly status: ProgrammeState
  readonly score: number | null
  readonly approvalFlow: string | null
  readonly proxy: string | null
  readonly subscription: string | null
  readonly recommendations: readonly ProgrammeAdvice[]
  readonly labels: Labels
  readonly createdAt: string
}

/** One programme with its document. */
export interface ProgrammeWithSpecification extends Programme {
  /** The OpenAPI document as it was sent, in base64. */
  readonly specification: string
}

export interface Progress {
  readonly status: ProgrammeState
  readonly currentStep: number
  readonly steps: readonly (ProgrammeStep & { readonly number: number; readonly name: string })[]
}

export const PROGRAMME_KIND = documentKind<ProgrammeBody>('programme', 'hidden', withoutSecrets)
const PENDING: ProgrammeStep = { status: 'pending', startedAt: null, endedAt: null, errors: [] }

/** The export of a tenant has no ciphertexts. */
function withoutSecrets({ backend, ...body }: ProgrammeBody): object {
  if (backend === null) return { ...body, backend }
  const { tls, secretHeaders, ...rest } = backend
  const { key: _key, ...shownTls } = tls ?? {}
  const names = secretHeaders?.map(({ name }) => ({ name }))
  return { ...body, backend: { ...rest, ...(tls && { tls: shownTls }), ...(names && { secretHeaders: names }) } }
}

/** The owner of the secrets of a programme: its API is not known when it is created. */
export function secretsOwner(tenant: string, programme: string): Owner {
  return { tenant, api: `programme ${programme}` }
}

export function initialActor(): PersistedActor {
  return begin(machine, undefined)
}

export function initialSteps(): readonly ProgrammeStep[] {
  return STEPS.map(() => PENDING)
}

export function stepOf({ actor }: Pick<ProgrammeBody, 'actor'>): number {
  return (actor.context as { readonly step: number }).step
}

export function stateOf({ actor }: Pick<ProgrammeBody, 'actor'>): ProgrammeState {
  return actor.value as ProgrammeState
}

/** Throws `Problem('state_conflict')` if the programme does not accept the event. */
export function stepProgramme({ actor }: Pick<ProgrammeBody, 'actor'>, type: ProgrammeEvent['type']): PersistedActor {
  const result = step(machine, actor, { type })
  if ('refused' in result) throw refusedStep(result.refused, PROGRAMME_ACTIONS)
  return result.next
}

/** Returns the steps with one of them changed. */
export function withStep(
  { steps }: Pick<ProgrammeBody, 'steps'>,
  number: number,
  change: Partial<ProgrammeStep>,
): readonly ProgrammeStep[] {
  return steps.map((each, index) => (index === number - 1 ? { ...each, ...change } : each))
}

export function programmeWrite(id: string, tenant: string, expected: number, body: ProgrammeBody): Write {
  const keys = { state: stateOf(body), ...(body.api !== '' && { api: body.api }) }
  return { kind: PROGRAMME_KIND, id, tenant, expected, body, keys }
}

export function showProgramme({ id, body, createdAtMs }: Document<ProgrammeBody>): Programme {
  const { name, api, score, approvalFlow, proxy, subscription, recommendations, labels = {} } = body
  return {
    id,
    name,
    api: api === '' ? null : api,
    status: stateOf(body),
    score,
    approvalFlow,
    proxy,
    subscription,
    recommendations,
    labels,
    createdAt: toTime(createdAtMs),
  }
}

export function showProgress({ body }: Pick<Document<ProgrammeBody>, 'body'>): Progress {
  return {
    status: stateOf(body),
    currentStep: stepOf(body),
    steps: body.steps.map((each, index) => ({ number: index + 1, name: STEPS[index]!, ...each })),
  }
}
