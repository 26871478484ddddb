/** How a provider signs people in: its client, and the role that a claim gives. */

import type { Item } from '../../api/operations.ts'
import { CheckField, TextField } from '../../parts/fields.tsx'
import { texts } from '../../texts.ts'
import { listOf } from './role-assignments.tsx'

type ProviderSignIn = NonNullable<Item<'/v1/identityproviders'>['signIn']>

export interface SignInValues {
  readonly clientId: string
  /** `''`: as it is. */
  readonly clientSecret: string
  readonly createPeople: boolean
  readonly name: string
  /** Separated by commas. */
  readonly scopes: string
  /** A line per mapping: `claim = value: role`. */
  readonly roles: readonly Mapping[]
}

interface Mapping {
  readonly claim: string
  readonly value: string
  readonly role: string
  readonly consumers?: readonly string[]
}

const words = texts.settings.identityProviders
const people = texts.settings.people
const NONE: SignInValues = {
  clientId: '',
  clientSecret: '',
  createPeople: false,
  name: '',
  scopes: 'profile, email',
  roles: [],
}
const MAPPING: Mapping = { claim: 'groups', value: '', role: '' }

interface SignInFieldsProps {
  readonly value: SignInValues | null
  readonly onChange: (value: SignInValues | null) => void
}

export function SignInFields({ value, onChange }: SignInFieldsProps) {
  const set = (change: Partial<SignInValues>): void => onChange({ ...(value ?? NONE), ...change })
  return (
    <fieldset>
      <legend>{words.signsIn}</legend>
      <CheckField
        label={words.signsIn}
        value={value !== null}
        onChange={(isOn) => onChange(isOn ? { ...NONE, roles: [MAPPING] } : null)}
      />
      {value !== null && (
        <>
          <TextField
            label={words.clientId}
            value={value.clientId}
            onChange={(clientId) => set({ clientId })}
            isRequired
          />
          <TextField
            label={words.clientSecret}
            hint={words.secretHint}
            type="password"
            value={value.clientSecret}
            onChange={(clientSecret) => set({ clientSecret })}
          />
          <TextField label={words.label} value={value.name} onChange={(name) => set({ name })} />
          <TextField
            label={words.scopes}
            hint={words.scopesHint}
            value={value.scopes}
            onChange={(scopes) => set({ scopes })}
          />
          <CheckField
            label={words.createPeople}
            value={value.createPeople}
            onChange={(createPeople) => set({ createPeople })}
          />
          <Mappings value={value.roles} onChange={(roles) => set({ roles })} />
        </>
      )}
    </fieldset>
  )
}

interface MappingsProps {
  readonly value: readonly Mapping[]
  readonly onChange: (value: readonly Mapping[]) => void
}

function Mappings({ value, onChange }: MappingsProps) {
  const replace = (index: number, change: Partial<Mapping>): void =>
    onChange(value.map((each, at) => (at === index ? { ...each, ...change } : each)))
  return (
    <>
      {value.map(({ claim, value: wanted, role }, index) => (
        <div key={index} class="grid">
          <TextField
            label={words.claim}
            value={claim}
            onChange={(next) => replace(index, { claim: next })}
            isRequired
          />
          <TextField
            label={words.value}
            value={wanted}
            onChange={(next) => replace(index, { value: next })}
            isRequired
          />
          <TextField label={words.role} value={role} onChange={(next) => replace(index, { role: next })} isRequired />
          <p>
            <button type="button" onClick={() => onChange(value.filter((_, at) => at !== index))}>
              {people.removeRole(role)}
            </button>
          </p>
        </div>
      ))}
      <p>
        <button type="button" onClick={() => onChange([...value, MAPPING])}>
          {people.addRole}
        </button>
      </p>
    </>
  )
}

export function fromSignIn(signIn: ProviderSignIn | null): SignInValues | null {
  if (signIn === null) return null
  const { clientId, createPeople, name, scopes, roles } = signIn
  return { clientId, clientSecret: '', createPeople, name: name ?? '', scopes: scopes.join(', '), roles }
}

/** Without the secret if none was entered. */
export function toSignIn(value: SignInValues | null) {
  if (value === null) return null
  const { clientId, clientSecret, createPeople, name, scopes, roles } = value
  return {
    clientId,
    createPeople,
    name: name.trim() === '' ? null : name.trim(),
    scopes: listOf(scopes),
    roles: roles.map(({ consumers, ...each }) => ({ ...each, ...(consumers && { consumers: [...consumers] }) })),
    ...(clientSecret !== '' && { clientSecret }),
  }
}
