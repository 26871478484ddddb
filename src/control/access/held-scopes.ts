/** Scopes of the platform API that the caller holds, which bound what it may grant. Null if the service itself acts. */
export type HeldScopes = ReadonlySet<string> | null
