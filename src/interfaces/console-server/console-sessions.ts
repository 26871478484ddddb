/**
 * Sessions of people who have signed in to the console: the tokens stay here, and the browser has a random id only.
 *
 * A session ends after half a day without use, a week after the sign-in, when the person signs out, or when the refresh grant behind
 * it ends, which `/v1/me/sessions` lists and ends.
 *
 * A refresh token can be used once. Its use and the new tokens of the session are one commit, so that of two nodes that renew a session
 * one succeeds; the other one reads the result. On one node, one renewal of a session runs at a time.
 */

import type { KeyedMutex } from '../../control/command/keyed-mutex.ts'
import type { IssuePersonToken, PersonToken } from '../../control/identity/person-tokens.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Session, SessionDocuments } from './session-documents.ts'
import { TokensUnavailable, type Tokens, type TokenSource } from './token-source.ts'

export interface ConsoleSessions {
  /** Returns the id of a new session, for the cookie of the browser. */
  begin(clientId: string, tokens: Tokens): Promise<string>
  /** Returns a valid access token of the platform API; null if the session has ended. Throws `TokensUnavailable`. */
  tokenOf(id: string): Promise<string | null>
  /**
   * Returns a token for one API in the name of the person, or why there is none; null if the session has ended. `consumer`: the one that
   * the person acts for.
   */
  apiTokenOf(id: string, api: string, consumer?: string): Promise<PersonToken | null>
  end(id: string): Promise<void>
}

export interface ConsoleSessionsOptions {
  readonly documents: SessionDocuments
  readonly source: Pick<TokenSource, 'renew' | 'revoke'>
  readonly issuePersonToken: IssuePersonToken
  readonly mutex: KeyedMutex
  readonly clock: Pick<Clock, 'nowMs'>
}

/** Renewed before it expires, so that a call of some length ends with the token that it began with. */
const RENEW_BEFORE_MS = 60_000
const ATTEMPTS_MAX = 5

export function createConsoleSessions(options: ConsoleSessionsOptions): ConsoleSessions {
  const { documents, source, issuePersonToken, mutex, clock } = options

  function currentToken(session: Session): string | null {
    const isCurrent = session.body.tokenUntilMs - RENEW_BEFORE_MS > clock.nowMs()
    return isCurrent ? documents.tokensOf(session).access : null
  }

  /** Another request may have renewed or ended the session while this one waited, and another node at any time. */
  async function renew(id: string): Promise<string | null> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const session = await documents.find(id)
      if (session === null) return null
      const current = currentToken(session)
      if (current !== null) return current
      const { refresh } = documents.tokensOf(session)
      const tokens = await source.renew(session.body.clientId, refresh, documents.keeperOf(session))
      if (tokens === null) await documents.remove(session)
      if (tokens !== 'changed') return tokens?.access ?? null
    }
    throw new TokensUnavailable(`the session was changed during ${ATTEMPTS_MAX} attempts to renew it`)
  }

  const inTurn = <Result>({ id }: Session, work: () => Promise<Result>): Promise<Result> =>
    mutex.runExclusive([`console session ${id}`], work)

  return {
    begin: (clientId, tokens) => documents.create(clientId, tokens),
    async tokenOf(id) {
      const session = await documents.find(id)
      if (session === null) return null
      return currentToken(session) ?? inTurn(session, () => renew(id))
    },
    async apiTokenOf(id, api, consumer) {
      const found = await documents.find(id)
      if (found === null) return null
      return inTurn(found, async () => {
        const session = await documents.find(id)
        if (session === null) return null
        const { clientId } = session.body
        return issuePersonToken({ clientId, refreshToken: documents.tokensOf(session).refresh }, api, consumer)
      })
    },
    async end(id) {
      const found = await documents.find(id)
      if (found === null) return
      // A renewal that is running would leave a refresh token that is never ended.
      await inTurn(found, async () => {
        const session = await documents.find(id)
        if (session === null) return
        await source.revoke(session.body.clientId, documents.tokensOf(session).refresh)
        await documents.remove(session)
      })
    },
  }
}
