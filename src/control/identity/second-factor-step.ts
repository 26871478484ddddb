/**
 * The step of a sign-in after the password: a code of the second factor.
 *
 * As in the other steps, the state travels in the form, sealed for the browser. A person who needs a second factor and has none sets
 * it up in this step: the new secret is part of the sealed state, and a right code puts it into force.
 */

import type { LoginThrottle } from '../access/people/login-throttle.ts'
import type { SecondFactors } from '../access/people/second-factors.ts'
import type { OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import type { LoggedInRequest } from './authorize-request.ts'
import { createSeals, type SealsOptions } from './sealed-transaction.ts'
import { codePage } from './second-factor-pages.ts'

/** The sealed state of this step. */
export interface CodeStep {
  readonly request: LoggedInRequest
  /** The new secret of a person who has no second factor yet. */
  readonly enrol: { readonly secret: string; readonly uri: string } | null
}

export type CodeResult =
  | { readonly page: OauthAnswer }
  /** The codes of a second factor that was set up now. */
  | { readonly recoveryCodes: readonly string[] }

export interface SecondFactorStep {
  /** Returns the page that asks for a code; null if the person needs none. */
  begin(tenant: string, request: LoggedInRequest, browser: string): Promise<OauthAnswer | null>
  /** Returns null if the transaction is not one of this step. */
  open(transaction: string, browser: string): CodeStep | null
  check(tenant: string, step: CodeStep, browser: string, code: string): Promise<CodeResult>
}

export interface SecondFactorStepOptions extends Omit<SealsOptions, 'stage'> {
  readonly secondFactors: Pick<SecondFactors, 'stateOf' | 'newSecret' | 'confirm' | 'use'>
  readonly throttle: LoginThrottle
}

const WRONG_CODE = 'The code is incorrect, or it was used before.'

export function createSecondFactorStep(options: SecondFactorStepOptions): SecondFactorStep {
  const { secondFactors, throttle } = options
  const seals = createSeals<CodeStep>({ ...options, stage: 'code' })

  function show(step: CodeStep, browser: string, fault: string | null, status = 200, retrySeconds = 0): OauthAnswer {
    const { enrol, request } = step
    const page = { transaction: seals.seal(step, browser), redirectUri: request.redirectUri, fault, enrol }
    return codePage(page, status, retrySeconds)
  }

  async function codesOf(
    tenant: string,
    { request, enrol }: CodeStep,
    code: string,
  ): Promise<readonly string[] | null> {
    const { id } = request.person
    if (enrol === null) return (await secondFactors.use(tenant, id, code)) ? [] : null
    const author = { tenant, consumer: 'system', person: id }
    return secondFactors.confirm(author, id, code.trim(), enrol.secret)
  }

  return {
    async begin(tenant, request, browser) {
      const { person } = request
      const state = await secondFactors.stateOf(tenant, person.id)
      if (state === 'none') return null
      const enrol = state === 'enrol' ? secondFactors.newSecret(person.username) : null
      return show({ request, enrol }, browser, null)
    },
    open: (transaction, browser) => seals.open(transaction, browser),
    async check(tenant, step, browser, code) {
      const key = `login code ${step.request.person.id}`
      // Counted before the comparison, so that concurrent attempts count like consecutive ones.
      const waitSeconds = await throttle.begin(key)
      if (waitSeconds > 0) {
        const fault = `Too many attempts. Try again in ${Math.ceil(waitSeconds / 60)} min.`
        return { page: show(step, browser, fault, 429, waitSeconds) }
      }
      const recoveryCodes = await codesOf(tenant, step, code)
      if (recoveryCodes === null) return { page: show(step, browser, WRONG_CODE, 401) }
      await throttle.succeed(key)
      return { recoveryCodes }
    },
  }
}
