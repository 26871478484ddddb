/**
 * The pages on which a sign-in begins: user name and password, and the identity providers of an organisation.
 *
 * If anyone can name the organisation, the first page is the same for all of them, whether they exist and have providers or not.
 * It offers a second page, which lists the providers; an organisation without any is refused there like one that does not exist.
 */

import { isSharedClient } from '../../boundary/plan/grant.ts'
import type { OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import { loginPage, providersPage } from './authorize-pages.ts'
import type { AuthorizeRequest } from './authorize-request.ts'
import type { RegisteredClient } from './client-authentication.ts'
import type { FederatedSignIn } from './federated-sign-in.ts'
import type { Seals } from './sealed-transaction.ts'

export interface LoginStepOptions {
  readonly clientFor: (clientId: string) => Promise<RegisteredClient | null>
  /** Returns the title of an API, or its technical name if it has none. */
  readonly titleOf: (api: string) => Promise<string>
  readonly federatedSignIn: Pick<FederatedSignIn, 'list'>
  readonly loginSeals: Pick<Seals<AuthorizeRequest>, 'seal'>
}

/** The previous attempt, if there was one. */
export interface LoginAttempt {
  readonly username?: string
  /** Why the attempt failed. */
  readonly fault?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

export interface LoginStep {
  show(request: AuthorizeRequest, browser: string, attempt?: LoginAttempt): Promise<OauthAnswer>
  /** Lists the providers of a tenant that sign people in. */
  showProviders(tenant: string, request: AuthorizeRequest, browser: string): Promise<OauthAnswer>
}

const NO_PROVIDER = 'This organisation offers no other way to sign in, or its name is wrong.'

export function createLoginStep(options: LoginStepOptions): LoginStep {
  const { clientFor, titleOf, federatedSignIn, loginSeals } = options

  async function show(
    request: AuthorizeRequest,
    browser: string,
    { username = '', fault, status = 200, headers }: LoginAttempt = {},
  ): Promise<OauthAnswer> {
    const { clientId, api, redirectUri } = request
    const client = await clientFor(clientId)
    const organisation = client?.asksOrganisation === true ? (request.organisation ?? '') : null
    const offersProviders = client !== null && isSharedClient(client.grant)
    const providers = client === null || offersProviders ? [] : await federatedSignIn.list(client.grant.tenant)
    const page = {
      ...{ app: nameOf(client), api: api === '' ? '' : await titleOf(api), redirectUri },
      ...{ organisation, username, fault: fault ?? null, providers, offersProviders },
      transaction: loginSeals.seal(request, browser),
    }
    return loginPage(page, status, headers)
  }

  return {
    show,
    async showProviders(tenant, request, browser) {
      const providers = await federatedSignIn.list(tenant)
      if (providers.length === 0) return show(request, browser, { fault: NO_PROVIDER, status: 400 })
      const { clientId, redirectUri } = request
      const app = nameOf(await clientFor(clientId))
      return providersPage({ app, transaction: loginSeals.seal(request, browser), redirectUri, providers })
    },
  }
}

function nameOf(client: RegisteredClient | null): string {
  return client?.grant.consumerName ?? ''
}
