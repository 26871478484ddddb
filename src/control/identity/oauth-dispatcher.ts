/** Dispatches OAuth calls to their endpoints. Reports the cause of a failure to the operator only. */

import { Problem } from '../../foundation/domain/problem.ts'
import { refuse, type OauthAnswer, type OauthCall, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'

export type OauthEndpoints = Readonly<Record<OauthCall['endpoint'], OauthEndpoint>>

export interface OauthDispatcherOptions {
  readonly endpoints: OauthEndpoints
  /** Called with the cause of every failed call. */
  readonly onFailure: (cause: unknown) => void
}

export function createOauthDispatcher({ endpoints, onFailure }: OauthDispatcherOptions): OauthEndpoint {
  return async (call) => {
    try {
      return await endpoints[call.endpoint](call)
    } catch (cause) {
      onFailure(cause)
      return unavailable(
        cause instanceof Problem ? cause.message : 'The request could not be processed; try again later.',
      )
    }
  }
}

function unavailable(description: string): OauthAnswer {
  const refused = refuse('temporarily_unavailable', description, 503)
  return { ...refused, headers: { ...refused.headers, 'Retry-After': '1' } }
}
