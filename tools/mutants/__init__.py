"""The mutation check of the requirements: each test that proves a promise notices when its feature is changed."""
