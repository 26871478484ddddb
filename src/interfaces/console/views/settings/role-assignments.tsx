/** The roles of a person, each with the consumers that it covers. */

import { useRead } from '../../api/use-read.ts'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { texts } from '../../texts.ts'

export interface Assignment {
  readonly role: string
  /** Ids, separated by commas. */
  readonly consumers: string
}

interface ApiAssignment {
  role: string
  consumers?: string[]
}

const words = texts.settings.people
const ROLES = '100'

export function AssignmentFields(props: {
  readonly value: readonly Assignment[]
  readonly onChange: (value: readonly Assignment[]) => void
}) {
  const { value, onChange } = props
  const { data } = useRead('/v1/roles', { query: { limit: ROLES } })
  const names = (data?.items ?? []).map(({ name }) => name)
  const replace = (index: number, next: Partial<Assignment>): void =>
    onChange(value.map((each, at) => (at === index ? { ...each, ...next } : each)))
  return (
    <fieldset>
      <legend>{words.roles}</legend>
      {value.map(({ role, consumers }, index) => (
        <div key={index} class="form">
          <SelectField
            label={words.role}
            value={role}
            onChange={(next) => replace(index, { role: next })}
            options={[...new Set([role, ...names])].map((each) => [each, each])}
          />
          <TextField
            label={words.consumers}
            hint={words.consumersHint}
            value={consumers}
            onChange={(next) => replace(index, { consumers: next })}
          />
          <p>
            <button type="button" onClick={() => onChange(value.filter((_, at) => at !== index))}>
              {words.removeRole(role)}
            </button>
          </p>
        </div>
      ))}
      <p>
        <button
          type="button"
          disabled={names.length === 0}
          onClick={() => onChange([...value, { role: names[0] ?? '', consumers: '' }])}
        >
          {words.addRole}
        </button>
      </p>
    </fieldset>
  )
}

export function toAssignments(value: readonly Assignment[]): ApiAssignment[] {
  return value.map(({ role, consumers }) => {
    const ids = listOf(consumers)
    return { role, ...(ids.length > 0 && { consumers: ids }) }
  })
}

export function fromAssignments(
  roles: readonly { readonly role: string; readonly consumers?: readonly string[] }[],
): readonly Assignment[] {
  return roles.map(({ role, consumers = [] }) => ({ role, consumers: consumers.join(', ') }))
}

export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
