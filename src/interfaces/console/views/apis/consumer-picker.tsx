/** A list of consumers, chosen by the beginning of their names. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { keepFocus } from '../../parts/dialog.tsx'
import { Fault, TextAreaField, TextField } from '../../parts/fields.tsx'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

export type Chosen = Pick<Item<'/v1/consumers'>, 'id' | 'name'>

interface PickerProps {
  readonly chosen: readonly Chosen[]
  readonly onChange: (chosen: readonly Chosen[]) => void
  readonly fault: string | undefined
}

const words = texts.apis.canary
const MATCHES_SHOWN = '8'
const CHOSEN_SHOWN_MAX = 50
const NAME_LENGTH_MAX = 128
const WAIT_MS = 150

export function ConsumerPicker(props: PickerProps) {
  return may('consumers:read') ? <Named {...props} /> : <Ids {...props} />
}

function Named({ chosen, onChange, fault }: PickerProps) {
  const [name, setName] = useState('')
  const matches = useMatches(name)
  const place = useRef<HTMLDivElement>(null)
  const ids = new Set(chosen.map(({ id }) => id))
  const toggle = ({ id, name: called }: Chosen): void =>
    onChange(ids.has(id) ? chosen.filter((each) => each.id !== id) : [...chosen, { id, name: called }])
  const remove = (one: Chosen): void => {
    toggle(one)
    keepFocus(place.current)
  }
  return (
    <div ref={place} class="picker">
      <TextField label={words.find} hint={words.findHint} value={name} onChange={setName} lengthMax={NAME_LENGTH_MAX} />
      <fieldset>
        <legend>{words.matches}</legend>
        {matches.map((each) => (
          <label key={each.id} class="check">
            <input type="checkbox" checked={ids.has(each.id)} onChange={() => toggle(each)} />
            <Name of={each} />
          </label>
        ))}
        <p role="status" class="quiet">
          {words.found(matches.length)}
        </p>
      </fieldset>
      {fault !== undefined && <Fault>{fault}</Fault>}
      <h3>{words.chosen(chosen.length)}</h3>
      <ul class="chosen">
        {chosen.slice(0, CHOSEN_SHOWN_MAX).map((each) => (
          <li key={each.id}>
            <Name of={each} />
            <button type="button" aria-label={words.removeNamed(each.name || each.id)} onClick={() => remove(each)}>
              {words.remove}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Names need not be unique. */
function Name({ of: { id, name } }: { readonly of: Chosen }) {
  return (
    <span class="name">
      <bdi>{name}</bdi> <code class="quiet">{id}</code>
    </span>
  )
}

/** Asks when the person stops typing; keeps the last answer meanwhile. */
function useMatches(name: string): readonly Chosen[] {
  const [asked, setAsked] = useState('')
  const last = useRef<readonly Chosen[]>([])
  useEffect(() => {
    const timer = setTimeout(() => setAsked(name.trim()), WAIT_MS)
    return () => clearTimeout(timer)
  }, [name])
  const { data } = useRead('/v1/consumers', { query: { name: asked, limit: MATCHES_SHOWN } })
  if (data !== null) last.current = data.items
  return last.current
}

/** For those who may not read the names. */
function Ids({ chosen, onChange, fault }: PickerProps) {
  const [text, setText] = useState(chosen.map(({ id }) => id).join('\n'))
  const change = (next: string): void => {
    setText(next)
    onChange([...new Set(next.split(/[\s,]+/))].filter((id) => id !== '').map((id) => ({ id, name: '' })))
  }
  return <TextAreaField label={words.ids} hint={words.idsHint} fault={fault} value={text} onChange={change} />
}
