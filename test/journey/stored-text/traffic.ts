/** Calls whose every part is hostile: path, query, headers, and the claims of a token of another provider. */

import { request } from 'undici'
import type { Service } from '../service.ts'
import { TEXT } from './documents.ts'
import type { Outside } from './outside.ts'
import { API, type Stored } from './store.ts'

const WORD = '"><img src=x onerror=ran(930)>'

/** Returns the ids of the calls. */
export async function callHostile(
  service: Service,
  outside: Outside,
  { apiKey, audience, claims }: Stored,
): Promise<readonly string[]> {
  const token = await outside.token(audience, claims)
  const credentials = [{ 'x-api-key': apiKey }, { authorization: `Bearer ${token}` }, { 'x-api-key': WORD }]
  const ids: string[] = []
  for (const credential of credentials)
    for (const path of ['things', `things?q=${encodeURIComponent(TEXT)}`, encodeURIComponent(TEXT)]) {
      const headers = {
        ...credential,
        'user-agent': WORD,
        'x-shop': WORD,
        referer: `https://hostile.example/${WORD}`,
        accept: WORD,
      }
      const answer = await request(`${service.gatewayUrl}/${API}/${path}`, { headers })
      await answer.body.dump()
      ids.push(String(answer.headers['x-request-id']))
    }
  return ids
}
