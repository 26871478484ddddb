/** The policy of the organisation: which documents are approved without a decision, and by which rules they are judged. */

import { change, readVersion } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { CheckField, SelectField, TextField } from '../../parts/fields.tsx'
import { JsonDocument } from '../../parts/json-document.tsx'
import { Page } from '../../parts/page.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

type Policy = Answer<'/v1/policy'>
type Exposure = Policy['approval']['exposures'][number]

const words = texts.tenantPolicy
const EXPOSURES: readonly Exposure[] = ['Internal', 'Partner', 'Public']
const RULESETS_MAX = '100'
/** Characters of a description. */
const SHOWN_MAX = 80

export function TenantPolicy() {
  return (
    <Page title={words.title}>
      <p class="quiet">{words.lead}</p>
      <JsonDocument<Policy>
        id="policy"
        label={words.title}
        load={async (signal) => readVersion('/v1/policy', { signal })}
        save={async (value, etag) => change('PUT /v1/policy', {}, value, etag === undefined ? {} : { etag })}
        verb={words.save}
        saved={words.saved}
        mayChange={scopes.value.has('policy:write')}
        form={(value, set) => <PolicyFields value={value} set={set} />}
      />
    </Page>
  )
}

interface FieldsProps {
  readonly value: Policy
  readonly set: (value: Policy) => void
}

function PolicyFields({ value, set }: FieldsProps) {
  const { approval, ruleset, secondFactor } = value
  const { data } = useRead('/v1/rulesets', { query: { limit: RULESETS_MAX } })
  const known = (data?.items ?? []).map(({ id, description }) => [id, (description ?? id).slice(0, SHOWN_MAX)] as const)
  const isListed = typeof ruleset !== 'string' || known.some(([id]) => id === ruleset)
  const setApproval = (members: Partial<Policy['approval']>): void =>
    set({ ...value, approval: { ...approval, ...members } })
  return (
    <>
      <TextField
        label={words.minScore}
        hint={words.minScoreHint}
        type="number"
        value={String(approval.minScore)}
        onChange={(next) => setApproval({ minScore: Number(next) })}
      />
      <CheckField
        label={words.allowErrors}
        value={approval.allowErrors}
        onChange={(allowErrors) => setApproval({ allowErrors })}
      />
      <CheckField
        label={words.allowBreaking}
        value={approval.allowBreaking}
        onChange={(allowBreaking) => setApproval({ allowBreaking })}
      />
      <fieldset class="plain">
        <legend>{words.exposures}</legend>
        {EXPOSURES.map((each) => (
          <CheckField
            key={each}
            label={each}
            value={approval.exposures.includes(each)}
            onChange={(isOn) =>
              setApproval({
                exposures: EXPOSURES.filter((one) => (one === each ? isOn : approval.exposures.includes(one))),
              })
            }
          />
        ))}
      </fieldset>
      <SelectField
        label={words.ruleset}
        value={ruleset ?? ''}
        options={[['', words.builtIn], ...known, ...(isListed ? [] : [[ruleset, ruleset] as const])]}
        onChange={(next) => set({ ...value, ruleset: next === '' ? null : next })}
      />
      <SelectField
        label={words.secondFactor}
        value={secondFactor}
        options={[
          ['off', words.optional],
          ['required', words.required],
        ]}
        onChange={(next) => set({ ...value, secondFactor: next as Policy['secondFactor'] })}
      />
    </>
  )
}
