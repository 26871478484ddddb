/** A JSON Schema for people to read. Members are shown when they are opened, because schemas may contain themselves. */

import { useState } from 'preact/hooks'
import { State } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { fieldsOf, listOf, textOf, type ApiDocument, type Fields } from './document.ts'
import { typeOf } from './schema-example.ts'

const words = texts.apis.documentation
const MEMBERS_MAX = 100
const SHOWN_LENGTH_MAX = 200
const BOUNDS = [
  'minimum',
  'exclusiveMinimum',
  'maximum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'default',
  'const',
] as const

interface SchemaViewProps {
  readonly schema: unknown
  readonly resolve: ApiDocument['resolve']
}

export function SchemaView({ schema, resolve }: SchemaViewProps) {
  const fields = resolve(schema)
  return (
    <div class="schema">
      <Facts fields={fields} />
      <Members fields={fields} resolve={resolve} />
    </div>
  )
}

function Facts({ fields }: { readonly fields: Fields }) {
  const values = listOf(fields['enum']).slice(0, MEMBERS_MAX).map(toShown)
  const bounds = BOUNDS.filter((name) => fields[name] !== undefined)
  const format = textOf(fields['format'])
  return (
    <p class="quiet">
      <bdi>
        {typeOf(fields)}
        {format !== '' && ` (${format})`}
        {bounds.map((name) => `, ${words.bounds[name]} ${toShown(fields[name])}`)}
      </bdi>
      {values.length > 0 && (
        <>
          {' '}
          {words.oneOf} <bdi>{values.join(', ')}</bdi>
        </>
      )}
    </p>
  )
}

function Members({ fields, resolve }: { readonly fields: Fields; readonly resolve: ApiDocument['resolve'] }) {
  const required = new Set(listOf(fields['required']))
  const properties = Object.entries(fieldsOf(fields['properties'])).slice(0, MEMBERS_MAX)
  const parts = [
    ...toParts(words.items, fields['items'] === undefined ? [] : [fields['items']]),
    ...toParts(words.allOf, listOf(fields['allOf'])),
    ...toParts(words.anyOf, [...listOf(fields['oneOf']), ...listOf(fields['anyOf'])]),
  ]
  if (properties.length === 0 && parts.length === 0) return null
  return (
    <ul class="members">
      {properties.map(([name, schema]) => (
        <li key={`property ${name}`}>
          <Member name={name} isRequired={required.has(name)} schema={schema} resolve={resolve} />
        </li>
      ))}
      {parts.map(({ title, schema }, index) => (
        <li key={index}>
          <Member name="" title={title} isRequired={false} schema={schema} resolve={resolve} />
        </li>
      ))}
    </ul>
  )
}

interface MemberProps extends SchemaViewProps {
  readonly name: string
  readonly title?: string
  readonly isRequired: boolean
}

function Member({ name, title, isRequired, schema, resolve }: MemberProps) {
  const [isOpen, setOpen] = useState(false)
  const fields = resolve(schema)
  const description = textOf(fields['description'])
  const head = (
    <>
      {title ?? <code>{name}</code>} <span class="quiet">{typeOf(fields)}</span>{' '}
      {isRequired && <State of={words.required} />} <bdi>{description}</bdi>
    </>
  )
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{head}</summary>
      {isOpen && <SchemaView schema={fields} resolve={resolve} />}
    </details>
  )
}

function toParts(title: string, schemas: readonly unknown[]) {
  return schemas.slice(0, MEMBERS_MAX).map((schema) => ({ title, schema }))
}

export function toShown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
}
