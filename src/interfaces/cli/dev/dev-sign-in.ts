/**
 * How the command line and a person sign in to the service of `tollgate dev`.
 *
 * The secret of its client is in a context of the command line, whose file only the user can read, for as long as `dev` runs.
 */

import { toPlain } from '../output/plain-text.ts'
import type { Io } from '../io.ts'
import type { ServiceAddress } from '../service-process.ts'
import type { ApiClient } from '../session/api-client.ts'
import { contextPath, openContexts, withContext, type Context } from '../session/contexts.ts'
import type { Tokens } from '../session/tokens.ts'

export interface DevContext {
  /** Null: it could not be written. */
  readonly name: string | null
  remove(): Promise<void>
}

interface ContextOptions {
  readonly api: string
  readonly service: ServiceAddress
  readonly tokens: Tokens
  readonly io: Pick<Io, 'env' | 'err'>
}

/** Writes the context `dev-{api}`. It becomes the current one only if there is none. */
export async function writeDevContext({ api, service, tokens, io }: ContextOptions): Promise<DevContext> {
  const { baseUrl, gatewayUrl, clientId, clientSecret } = service
  const name = `dev-${api}`
  const store = openContexts(contextPath(io.env))
  const isOwn = (context: Context): boolean => context.name === name && context.clientSecret === clientSecret
  try {
    await store.update((file) => ({
      ...withContext(file, { name, baseUrl, gatewayUrl, clientId, clientSecret, ...tokens }),
      current: file.current ?? name,
    }))
  } catch (cause) {
    io.err.write(`${toPlain(`No context for the command line: ${(cause as Error).message}`)}\n`)
    return { name: null, remove: async () => {} }
  }
  return {
    name,
    async remove() {
      // Another `dev` may have replaced it, and another command may have damaged the file.
      const removing = store.update(({ current, contexts }) => {
        if (!contexts.some(isOwn)) return { current, contexts }
        return {
          current: current === name ? null : current,
          contexts: contexts.filter((context) => !isOwn(context)),
        }
      })
      await removing.catch((cause: unknown) => io.err.write(`${toPlain((cause as Error).message)}\n`))
    },
  }
}

interface User {
  readonly id: string
  readonly username: string
  readonly state: string
}

/** Returns a one-time link with which the user `owner` sets a password; null if the user has one. */
export async function inviteOwner(client: ApiClient): Promise<string | null> {
  const { items } = (await client.call({ method: 'GET', path: '/v1/users?limit=500' })) as {
    readonly items: readonly User[]
  }
  const owner = items.find(({ username, state }) => username === 'owner' && state === 'Pending')
  if (owner === undefined) return null
  const { invitation } = (await client.call({ method: 'POST', path: `/v1/users/${owner.id}/invite` })) as {
    readonly invitation?: { readonly url: string }
  }
  return invitation?.url ?? null
}
