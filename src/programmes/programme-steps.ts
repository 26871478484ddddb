/**
 * The steps of a programme.
 *
 * The process may die between the effect of a step and its commit, so each step first checks whether its
 * effect exists: nothing is staged, subscribed or activated twice.
 */

import { Problem } from '../domain/problem.ts'
import type { Judgement } from '../governance/lint/linter.ts'
import { readSpecification } from '../governance/specification.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Document, Registry, Write } from '../store/registry.ts'
import type { ApiPolicies } from '../publishing/api-policy.ts'
import { API_KIND, apiWrite } from '../publishing/apis.ts'
import { openFlow } from '../approvals/approval-document.ts'
import { commit } from '../command/commands.ts'
import { findEarlierMajor } from './earlier-major.ts'
import type { Compliance } from './compliance.ts'
import type { ProgrammeBody } from './programme-document.ts'
import type { Proxies } from '../publishing/proxies.ts'
import { PROXY_KIND, activeDeployment, stagedDeployment, type Deployment } from '../publishing/proxy-document.ts'
import { readContent } from '../publishing/published-content.ts'
import { OPENSLA_SPEC_KIND, type Specifications } from '../publishing/specifications.ts'
import type { Subscriptions } from '../subscriptions/subscriptions.ts'
import type { TenantPolicies } from './tenant-policy.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

/** Result of a step: changes of the programme and further writes in one commit, or that the step has to wait. */
export interface StepResult {
  readonly changes?: Partial<ProgrammeBody>
  readonly writes?: readonly Write[]
  readonly isPaused?: boolean
}

export type ProgrammeStepWork = (programme: Document<ProgrammeBody>) => Promise<StepResult>

export interface ProgrammeStepsOptions {
  readonly registry: Registry
  readonly compliance: Pick<Compliance, 'judge'>
  readonly policies: Pick<TenantPolicies, 'get'>
  readonly apiPolicies: Pick<ApiPolicies, 'get'>
  readonly proxies: Pick<Proxies, 'stage' | 'activate'>
  readonly specifications: Pick<Specifications, 'createOpenSla'>
  readonly subscriptions: Pick<Subscriptions, 'create' | 'list'>
  readonly mutex: KeyedMutex
  readonly createId: CreateId
  readonly clock: Clock
}

const ERRORS_MAX = 50
const ADVICE_MAX = 10

/** In the order of `STEPS`. */
export function createProgrammeSteps(options: ProgrammeStepsOptions): readonly ProgrammeStepWork[] {
  const {
    registry,
    compliance,
    policies,
    apiPolicies,
    proxies,
    specifications,
    subscriptions,
    mutex,
    createId,
    clock,
  } = options

  async function bytesOf({ tenant, body }: Document<ProgrammeBody>): Promise<Buffer> {
    return (await readContent(registry, tenant, body.specification)).bytes
  }

  /** The latest lint result with its programme; the first three steps use the same one. */
  let latest: { readonly of: string; readonly judgement: Judgement } | null = null

  /** `api` is the name that the document gives; `''` where it gives none. */
  async function judge({ id, tenant, body }: Document<ProgrammeBody>, api: string, bytes: Buffer): Promise<Judgement> {
    const earlier = api === '' ? null : await findEarlierMajor(registry, tenant, api)
    const judgement = await compliance.judge(tenant, bytes, earlier)
    latest = { of: `${id} ${body.specification}`, judgement }
    return judgement
  }

  async function judged(programme: Document<ProgrammeBody>): Promise<Judgement> {
    const { id, body } = programme
    if (latest?.of === `${id} ${body.specification}`) return latest.judgement
    return judge(programme, body.api, await bytesOf(programme))
  }

  async function validate(programme: Document<ProgrammeBody>): Promise<StepResult> {
    const bytes = await bytesOf(programme)
    const technicalName = await nameIn(bytes)
    const { isServable, findings } = await judge(programme, technicalName ?? '', bytes)
    if (!isServable || technicalName === null) {
      const errors = findings.slice(0, ERRORS_MAX)
      throw new Problem('specification_invalid', 'The gateway cannot serve the document.', {
        errors: errors.map(({ pointer, message, line, column }) => ({ pointer, detail: message, line, column })),
      })
    }
    const entry = await registry.get(API_KIND, technicalName)
    const isOthers =
      entry !== null && (entry.tenant !== programme.tenant || ![null, programme.id].includes(entry.body.programme))
    if (isOthers) throw new Problem('name_taken', `The name ${technicalName} is taken on this gateway.`)
    return { changes: { api: technicalName } }
  }

  async function check(programme: Document<ProgrammeBody>): Promise<StepResult> {
    const { score, findings, changes } = await judged(programme)
    const errors = findings.filter(({ severity }) => severity === 'error').length
    return { changes: { score, errors, breaking: changes.filter(({ level }) => level === 'breaking').length } }
  }

  async function recommend(programme: Document<ProgrammeBody>): Promise<StepResult> {
    const { costs, findings } = await judged(programme)
    const recommendations = costs.slice(0, ADVICE_MAX).map(({ rule, count, cost: gain }) => {
      const advice = findings.find((finding) => finding.rule === rule)?.advice ?? ''
      return { rule, advice, count, gain }
    })
    return { changes: { recommendations } }
  }

  async function submit({ id, tenant, body }: Document<ProgrammeBody>): Promise<StepResult> {
    const reasons = await reasonsToAsk(tenant, body)
    if (reasons.length === 0) return { changes: { approvalFlow: null } }
    const flow = createId('apf')
    const requester = body.author.person ?? body.author.consumer
    const asked = {
      kind: 'programme',
      programme: id,
      subscription: '',
      requester,
      slaVariant: null,
      reason: reasons.join(' '),
    } as const
    return { changes: { approvalFlow: flow }, writes: openFlow(flow, tenant, asked, clock.nowMs()) }
  }

  /** Returns the reasons why a decision is needed, for the approver; empty if the policy approves. */
  async function reasonsToAsk(tenant: string, { api, score, errors, breaking = 0 }: ProgrammeBody): Promise<string[]> {
    const { minScore, allowErrors, allowBreaking, exposures } = (await policies.get(tenant)).approval
    const entry = await registry.get(API_KIND, api)
    const exposure = entry === null ? 'Internal' : (await apiPolicies.get(tenant, api)).exposure
    const reasons: string[] = []
    if ((score ?? 0) < minScore) reasons.push(`It scores ${score ?? 0}, and ${minScore} is asked for.`)
    if (errors > 0 && !allowErrors) reasons.push(`Errors found: ${errors}.`)
    if (breaking > 0 && !allowBreaking) reasons.push(`Changes that break callers of the major before: ${breaking}.`)
    if (!exposures.includes(exposure)) reasons.push(`The API is ${exposure}.`)
    return reasons
  }

  async function deploy(programme: Document<ProgrammeBody>): Promise<StepResult> {
    const { id, tenant, body } = programme
    const { api, author, backend } = body
    const bytes = await bytesOf(programme)
    const current = await registry.find(PROXY_KIND, 'api', api)
    const isDone =
      current !== null &&
      ((await holds(tenant, stagedDeployment(current.body), bytes)) ||
        (await holds(tenant, activeDeployment(current.body), bytes)))
    const proxy = isDone
      ? current.id
      : (
          await proxies.stage(author, {
            api,
            specification: bytes.toString('base64'),
            ...(backend !== null && { backend }),
          })
        ).id
    await adopt(tenant, id, api)
    if (body.openSla !== null) await declare(programme, body.openSla)
    return { changes: { proxy } }
  }

  async function holds(tenant: string, deployment: Deployment | null, bytes: Buffer): Promise<boolean> {
    if (deployment === null) return false
    return (await readContent(registry, tenant, deployment.specification)).bytes.equals(bytes)
  }

  /** The catalogue's entry names the programme it came by. */
  function adopt(tenant: string, id: string, api: string): Promise<void> {
    return mutex.runExclusive([api], async () => {
      const entry = await registry.get(API_KIND, api)
      if (entry === null || entry.body.programme === id) return
      const write = apiWrite(api, tenant, entry.revision, { ...entry.body, programme: id })
      await commit(registry, { tenant, consumer: 'system' }, 'api.programme', [write])
    })
  }

  async function declare({ tenant, body }: Document<ProgrammeBody>, content: string): Promise<void> {
    const { api, author } = body
    const { bytes } = await readContent(registry, tenant, content)
    for (const { id } of await registry.list(OPENSLA_SPEC_KIND, {
      tenant,
      where: { api, inForce: 'true' },
      limit: 500,
    })) {
      if ((await readContent(registry, tenant, id)).bytes.equals(bytes)) return
    }
    await specifications.createOpenSla(author, { api, specification: bytes.toString('base64') })
  }

  async function subscribe({
    tenant,
    body: { api, author, subscription },
  }: Document<ProgrammeBody>): Promise<StepResult> {
    const { consumer } = author
    if (subscription !== null) return {}
    const { items } = await subscriptions.list(tenant, { consumer, api, limit: 500 })
    const live = items.find(({ state }) => state !== 'Cancelled' && state !== 'Rejected')
    return {
      changes: { subscription: live?.id ?? (await subscriptions.create(author, { consumer, api, force: true })).id },
    }
  }

  async function activate(programme: Document<ProgrammeBody>): Promise<StepResult> {
    const { tenant, body } = programme
    const { author, proxy } = body
    const current = proxy === null ? null : await registry.get(PROXY_KIND, proxy)
    if (proxy === null || current === null) throw new Problem('not_found', 'The proxy of the programme was deleted.')
    const isDone = await holds(tenant, activeDeployment(current.body), await bytesOf(programme))
    if (!isDone) await proxies.activate(author, proxy)
    return {}
  }

  const awaitApproval: ProgrammeStepWork = async ({ body }) => ({ isPaused: body.approvalFlow !== null })
  return [validate, check, recommend, submit, awaitApproval, deploy, subscribe, activate]
}

/** Null where the document cannot be served: its judgement says why. */
async function nameIn(bytes: Uint8Array): Promise<string | null> {
  try {
    return (await readSpecification(bytes)).technicalName
  } catch (cause) {
    if (cause instanceof Problem) return null
    throw cause
  }
}
