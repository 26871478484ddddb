/**
 * The field that takes the id of a request, a token, or an API key.
 *
 * A token is neither in the address nor in the script of the view. Only the start of an API key is sent.
 */

import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { TextField } from '../../parts/fields.tsx'
import { go } from '../../router.ts'
import { texts } from '../../texts.ts'

export interface AskedToken {
  readonly token: string
  /** `''`: the API that the token is for. */
  readonly api: string
}

type Asked =
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'key'; readonly start: string }
  | ({ readonly kind: 'token' } & AskedToken)

/** In the memory of the page only, until its explanation is left. */
export const askedToken = signal<AskedToken | null>(null)

const words = texts.requests
const TEXT_LENGTH_MAX = 12_400
const KEY_START_LENGTH = 8

export function ExplainForm() {
  const [text, setText] = useState('')
  const [api, setApi] = useState('')
  const [fault, setFault] = useState('')
  const asked = toAsked(text, api.trim())
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        setFault(asked === null ? words.clientSecret : '')
        if (asked !== null) ask(asked)
      }}
    >
      <TextField
        label={words.label}
        hint={words.hint}
        value={text}
        onChange={setText}
        lengthMax={TEXT_LENGTH_MAX}
        isRequired
      />
      {asked?.kind === 'token' && (
        <TextField label={words.apiLabel} hint={words.apiHint} value={api} onChange={setApi} placeholder="orders-v1" />
      )}
      {fault !== '' && (
        <p class="notice" role="alert">
          {fault}
        </p>
      )}
      <p>
        <button type="submit" class="main">
          {words.button}
        </button>
      </p>
    </form>
  )
}

function ask(asked: Asked): void {
  askedToken.value = asked.kind === 'token' ? { token: asked.token, api: asked.api } : null
  if (asked.kind === 'id') go(`requests/${encodeURIComponent(asked.id)}`)
  else go(asked.kind === 'key' ? `requests/explain?key=${encodeURIComponent(asked.start)}` : 'requests/explain')
}

/** Null for a client secret, which names nothing. */
function toAsked(typed: string, api: string): Asked | null {
  const text = typed.trim().replace(/^bearer\s+/i, '')
  if (text.startsWith('tgs_')) return null
  if (text.startsWith('tg_')) return { kind: 'key', start: text.slice(0, KEY_START_LENGTH) }
  return text.split('.').length === 3 ? { kind: 'token', token: text, api } : { kind: 'id', id: text }
}
