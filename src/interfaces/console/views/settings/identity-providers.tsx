/** External identity providers: whose tokens the APIs accept, and who signs people in. No secret is ever shown. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ConfirmButton, DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id } from '../../parts/values.tsx'
import { BASE, go } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { fromSignIn, SignInFields, toSignIn, type SignInValues } from './provider-sign-in.tsx'
import { listOf } from './role-assignments.tsx'

type Provider = Item<'/v1/identityproviders'>

const words = texts.settings.identityProviders
const AUDIENCE_LENGTH_MAX = 256
const ISSUER_LENGTH_MAX = 512

export function IdentityProviders({ id }: { readonly id: string }) {
  return id === '' ? <All /> : <ProviderPage id={id} />
}

function All() {
  const reading = useRead('/v1/identityproviders', { query: Pages.query() })
  const { columns } = words
  return (
    <Page
      title={words.title}
      actions={scopes.value.has('identityproviders:write') ? <Register onChange={reading.reload} /> : undefined}
    >
      <ListOf
        reading={reading}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate identityproviders create --issuer https://login.example'] }}
        columns={[
          {
            title: columns.issuer,
            cell: ({ id, issuer }) => (
              <a href={`${BASE}settings/identity-providers/${encodeURIComponent(id)}`}>
                <bdi>{issuer}</bdi>
              </a>
            ),
          },
          { title: columns.audience, cell: ({ audience }) => <bdi>{audience ?? ''}</bdi> },
          { title: columns.apis, cell: ({ apis }) => <bdi>{apis.join(', ')}</bdi> },
          { title: columns.signsIn, cell: ({ signIn }) => (signIn === null ? words.no : words.yes) },
        ]}
      />
    </Page>
  )
}

function ProviderPage({ id }: { readonly id: string }) {
  const reading = useRead('/v1/identityproviders/:id', { params: { id } })
  return (
    <Loaded reading={reading} title={words.title}>
      {(provider) => (
        <Page
          title={provider.issuer}
          actions={
            scopes.value.has('identityproviders:write') ? (
              <Actions provider={provider} onChange={reading.reload} />
            ) : undefined
          }
        >
          <Facts provider={provider} />
        </Page>
      )}
    </Loaded>
  )
}

function Facts({ provider: { audience, apis, redirectUri, signIn } }: { readonly provider: Provider }) {
  return (
    <dl class="facts">
      <dt>{words.audience}</dt>
      <dd>
        <bdi>{audience ?? ''}</bdi>
      </dd>
      <dt>{words.apis}</dt>
      <dd>
        <bdi>{apis.join(', ')}</bdi>
      </dd>
      <dt>{words.redirectUri}</dt>
      <dd>
        <Id value={redirectUri} />
      </dd>
      <dt>{words.signsIn}</dt>
      <dd>{signIn === null ? words.no : words.yes}</dd>
      {signIn !== null && (
        <>
          <dt>{words.clientId}</dt>
          <dd>
            <bdi>{signIn.clientId}</bdi>
          </dd>
          <dt>{words.role}</dt>
          {signIn.roles.map(({ claim, value, role }) => (
            <dd key={`${claim} ${value} ${role}`}>
              <bdi>
                {claim} = {value}: {role}
              </bdi>
            </dd>
          ))}
        </>
      )}
    </dl>
  )
}

interface ActionsProps {
  readonly provider: Provider
  readonly onChange: () => void
}

function Actions({ provider, onChange }: ActionsProps) {
  const { id, issuer } = provider
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/identityproviders/:id', { id }, undefined)
    notify(words.removed)
    go('settings/identity-providers')
  }
  return (
    <>
      <DialogButton label={words.save} isMain>
        {(close) => (
          <Fields
            submit={words.save}
            before={provider}
            onSubmit={async ({ audience, apis, signIn }) => {
              const body = { audience: audience === '' ? null : audience, apis, signIn: toSignIn(signIn) }
              await change('PATCH /v1/identityproviders/:id', { id }, body)
              close()
              notify(words.saved)
              onChange()
            }}
          />
        )}
      </DialogButton>
      <ConfirmButton
        label={words.remove}
        consequence={<bdi>{words.removeConsequence(issuer)}</bdi>}
        onConfirm={remove}
      />
    </>
  )
}

function Register({ onChange }: Pick<ActionsProps, 'onChange'>) {
  return (
    <DialogButton label={words.create} isMain name="create">
      {(close) => (
        <Fields
          submit={words.create}
          onSubmit={async ({ issuer, audience, apis, signIn }) => {
            const chosen = toSignIn(signIn)
            await change(
              'POST /v1/identityproviders',
              {},
              {
                issuer,
                ...(audience !== '' && { audience }),
                ...(apis.length > 0 && { apis }),
                ...(chosen !== null && { signIn: { ...chosen, clientSecret: signIn?.clientSecret ?? '' } }),
              },
            )
            close()
            notify(words.created)
            onChange()
          }}
        />
      )}
    </DialogButton>
  )
}

interface Values {
  readonly issuer: string
  readonly audience: string
  readonly apis: string[]
  /** Null: the provider signs no one in. */
  readonly signIn: SignInValues | null
}

interface FieldsProps {
  readonly submit: string
  readonly before?: Provider
  readonly onSubmit: (values: Values) => Promise<void>
}

function Fields({ submit, before, onSubmit }: FieldsProps) {
  const [issuer, setIssuer] = useState(before?.issuer ?? '')
  const [audience, setAudience] = useState(before?.audience ?? '')
  const [apis, setApis] = useState((before?.apis ?? []).join(', '))
  const [signIn, setSignIn] = useState(fromSignIn(before?.signIn ?? null))
  const values = { issuer: issuer.trim(), audience: audience.trim(), apis: listOf(apis), signIn }
  return (
    <Form submit={submit} onSubmit={() => onSubmit(values)}>
      {before === undefined && (
        <TextField
          label={words.issuer}
          hint={words.issuerHint}
          type="url"
          value={issuer}
          onChange={setIssuer}
          isRequired
          lengthMax={ISSUER_LENGTH_MAX}
        />
      )}
      <TextField label={words.audience} value={audience} onChange={setAudience} lengthMax={AUDIENCE_LENGTH_MAX} />
      <TextField label={words.apis} hint={words.apisHint} value={apis} onChange={setApis} />
      <SignInFields value={signIn} onChange={setSignIn} />
    </Form>
  )
}
