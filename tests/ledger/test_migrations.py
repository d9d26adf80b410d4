from app.ledger.migrate import migrate


async def test_a_second_migration_changes_nothing(database_url):
    assert await migrate(database_url) == []
